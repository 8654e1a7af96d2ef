//! The beginning of a reply, as a record of errors shows it.

/// What is kept of a reply. A person is shown far less: secrets are searched for in all of it before it is cut there.
pub const EXAMPLE_BYTES: usize = 4 * 1024;

/// Appends the beginning of a reply, as much as an example may have.
pub fn push_beginning(text: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(&text[..text.len().min(EXAMPLE_BYTES)]);
}
