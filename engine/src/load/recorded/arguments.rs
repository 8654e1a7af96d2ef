//! The arguments of a recorded command, as they stand in the file that was prepared for drivers.

/// What an argument is, in the lowest bits of its length.
const KIND: u32 = 3;
pub const KEY: u32 = 1;
pub const NOT_SENT: u32 = 2;

/// The arguments of a command: what each one is, and its text.
pub struct Arguments<'a>(pub &'a [u8]);

impl<'a> Iterator for Arguments<'a> {
    type Item = (u32, &'a [u8]);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let (size, after) = self.0.split_first_chunk::<4>()?;
        let size = u32::from_le_bytes(*size);
        let (text, after) = after.split_at((size as usize >> 2).min(after.len()));
        self.0 = after;
        Some((size & KIND, text))
    }
}
