//! A command, ready to be written: what a protocol of commands makes of its arguments, once for a plan.

use crate::content::send_buffer::Sink;
use crate::content::template::{Filling, Part, write_integer};
use crate::content::values::{ID_DIGITS, VERSION_DIGITS, Values, digits};

/// Longer texts have no hole made for them, which would be copied before it is filled.
const HOLE_MAX_BYTES: usize = 512;

/// All that is the same in every request is copied in one go.
#[derive(Debug, Default)]
pub(super) struct Command {
    pieces: Vec<Piece>,
}

#[derive(Debug, Default)]
struct Piece {
    text: Vec<u8>,
    /// Places in the text that are filled in. Each kind has a loop of its own: in one for all, what any of them needs
    /// would be made for each.
    ids: Vec<usize>,
    versions: Vec<usize>,
    generated: Vec<(usize, Part)>,
    /// What follows it.
    then: Then,
}

#[derive(Debug, Default)]
enum Then {
    #[default]
    Nothing,
    Part(Part),
    /// Data whose length is known only once they are written.
    Sized {
        data: Vec<Part>,
        between: Vec<Part>,
    },
}

impl Piece {
    /// Fills a copy of the text.
    #[inline(always)]
    fn fill(&self, filling: &Filling, text: &mut [u8]) {
        for &at in &self.ids {
            text[at..][..ID_DIGITS].copy_from_slice(&digits::<ID_DIGITS>(filling.key));
        }
        for &at in &self.versions {
            text[at..][..VERSION_DIGITS].copy_from_slice(&digits::<VERSION_DIGITS>(filling.version.into()));
        }
        for (at, part) in &self.generated {
            let generated = part.generated(filling);
            text[*at..][..generated.len()].copy_from_slice(generated);
        }
    }
}

impl Then {
    #[inline(never)]
    fn write(&self, filling: &Filling, scratch: &mut Vec<u8>, out: &mut impl Sink) {
        match self {
            Then::Nothing => {}
            Then::Part(part) => part.write(filling, out),
            Then::Sized { data, between } => {
                scratch.clear();
                data.iter().for_each(|part| part.write(filling, scratch));
                write_integer(scratch.len() as i128, out.bytes());
                between.iter().for_each(|part| part.write(filling, out));
                out.bytes().extend_from_slice(scratch);
            }
        }
    }
}

impl Command {
    /// Appends text that is always the same.
    pub fn push_text(&mut self, text: &str) {
        self.open_piece().text.extend(text.as_bytes());
    }

    /// Appends the length of `data` in digits, what stands between, and the data.
    pub fn push_sized(&mut self, data: Vec<Part>, between: Vec<Part>, values: &Values) {
        match data.iter().map(|part| part.fixed_bytes(values)).sum::<Option<usize>>() {
            Some(length) => {
                self.push_text(&length.to_string());
                between.into_iter().chain(data).for_each(|part| self.push(part, values));
            }
            None => self.open_piece().then = Then::Sized { data, between },
        }
    }

    pub fn push(&mut self, part: Part, values: &Values) {
        let fits_a_hole = matches!(part, Part::Id | Part::Version | Part::Field | Part::Body | Part::Value);
        let length = part.fixed_bytes(values).filter(|&length| fits_a_hole && length <= HOLE_MAX_BYTES);
        let piece = self.open_piece();
        match (part, length) {
            (Part::Literal(text), _) => piece.text.extend(text),
            (part, Some(length)) => {
                let at = piece.text.len();
                match part {
                    Part::Id => piece.ids.push(at),
                    Part::Version => piece.versions.push(at),
                    part => piece.generated.push((at, part)),
                }
                piece.text.resize(at + length, b'0');
            }
            (part, None) => piece.then = Then::Part(part),
        }
    }

    /// The last piece, or a new one if that is followed by something.
    fn open_piece(&mut self) -> &mut Piece {
        if self.pieces.last().is_none_or(|piece| !matches!(piece.then, Then::Nothing)) {
            self.pieces.push(Piece::default());
        }
        let last = self.pieces.len() - 1;
        &mut self.pieces[last]
    }

    /// Appends the command. `scratch` is only there to be reused.
    #[inline(always)]
    pub fn write(&self, filling: &Filling, scratch: &mut Vec<u8>, out: &mut impl Sink) {
        for piece in &self.pieces {
            let bytes = out.bytes();
            let start = bytes.len();
            bytes.extend_from_slice(&piece.text);
            piece.fill(filling, &mut bytes[start..]);
            if !matches!(piece.then, Then::Nothing) {
                piece.then.write(filling, scratch, out);
            }
        }
    }

    /// How many copies it takes to write it.
    #[cfg(test)]
    pub fn pieces(&self) -> usize {
        self.pieces.len()
    }
}
