//! A data file: rows whose fields stand in requests. It is read once, before the load starts.
//!
//! Which row an operation has follows from its number in the drive (and the seed), or from its key, so that all its
//! requests and checks see the same row, and no thread keeps count.

use crate::content::rng::Rng;
use crate::plan::{DataFile, DataFormat, DataOrder, PlanError};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fs::File;
use std::io::{BufRead, BufReader, Error};

/// Keeps the random numbers of rows apart from those of other placeholders.
const ROWS_STREAM: u64 = 0x726f_7773_6461_7461;
/// The fields of a row of [`DataFormat::Documents`].
const DOCUMENT: &str = "document";
const KEY: &str = "key";

/// A document with the name that it has among the user's keys.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named<'a> {
    #[serde(borrow)]
    key: Cow<'a, str>,
    #[serde(borrow)]
    value: &'a RawValue,
}

/// All rows of one data file.
#[derive(Debug, Clone)]
pub struct Data {
    names: Vec<String>,
    /// The text of all fields, row by row.
    text: Vec<u8>,
    /// Where each field ends in `text`.
    ends: Vec<usize>,
    order: DataOrder,
    seed: u64,
}

impl Data {
    /// Reads the file. The error names it, and the row that is wrong.
    pub fn load(file: &DataFile, seed: u64) -> Result<Self, PlanError> {
        let wrong = |why: String| PlanError::new("data.path", format!("`{}`: {why}", file.path));
        let mut data = Self { names: vec![], text: vec![], ends: vec![], order: file.order, seed };
        let opened = File::open(&file.path).map_err(|error| wrong(system_text(&error)))?;
        match format(file)? {
            DataFormat::Csv => data.read_csv(opened).map_err(wrong)?,
            DataFormat::Jsonl => data.read_jsonl(opened).map_err(wrong)?,
            DataFormat::Documents => data.read_documents(opened).map_err(wrong)?,
        }
        let twice = data.names.iter().enumerate().find(|(place, name)| data.names[..*place].contains(name));
        if let Some((_, name)) = twice {
            return Err(wrong(format!("the field `{name}` is there twice; rename one")));
        }
        if data.rows() == 0 {
            return Err(wrong("holds no rows".into()));
        }
        Ok(data)
    }

    fn read_csv(&mut self, file: File) -> Result<(), String> {
        let mut reader = csv::Reader::from_reader(BufReader::new(file));
        self.names = reader.headers().map_err(|error| error.to_string())?.iter().map(String::from).collect();
        let mut record = csv::ByteRecord::new();
        while reader.read_byte_record(&mut record).map_err(|error| error.to_string())? {
            record.iter().for_each(|field| self.push(field));
        }
        Ok(())
    }

    fn read_jsonl(&mut self, file: File) -> Result<(), String> {
        type Row = serde_json::Map<String, serde_json::Value>;
        for (number, line) in BufReader::new(file).lines().enumerate() {
            let line = line.map_err(|error| system_text(&error))?;
            if line.trim().is_empty() {
                continue;
            }
            let row: Row =
                serde_json::from_str(&line).map_err(|error| format!("line {} is no object: {error}", number + 1))?;
            if self.names.is_empty() {
                self.names = row.keys().cloned().collect();
            }
            for place in 0..self.names.len() {
                let name = &self.names[place];
                match row.get(name) {
                    None => return Err(format!("line {} lacks the field `{name}` of the first row", number + 1)),
                    Some(serde_json::Value::String(text)) => self.push(text.as_bytes()),
                    Some(other) => self.push(other.to_string().as_bytes()),
                }
            }
        }
        Ok(())
    }

    /// A line is a document as it stands; where the first is of the form `{"key": ..., "value": ...}`, so are all, and
    /// a text among their values is taken for its characters.
    fn read_documents(&mut self, file: File) -> Result<(), String> {
        for (number, line) in BufReader::new(file).lines().enumerate() {
            let line = line.map_err(|error| system_text(&error))?;
            let text = line.trim();
            if text.is_empty() {
                continue;
            }
            let named = serde_json::from_str::<Named>(text).ok();
            if self.names.is_empty() {
                let names: &[&str] = if named.is_some() { &[DOCUMENT, KEY] } else { &[DOCUMENT] };
                self.names = names.iter().map(ToString::to_string).collect();
            }
            match named {
                Some(Named { key, value }) if self.names.len() > 1 => {
                    let characters = serde_json::from_str::<Cow<str>>(value.get());
                    self.push(characters.as_deref().unwrap_or(value.get()).as_bytes());
                    self.push(key.as_bytes());
                }
                _ if self.names.len() > 1 => {
                    return Err(format!("line {} has no `key` and `value`, which the first line has", number + 1));
                }
                _ => {
                    let document: &RawValue = serde_json::from_str(text)
                        .map_err(|error| format!("line {} is no JSON: {error}", number + 1))?;
                    self.push(document.get().as_bytes());
                }
            }
        }
        Ok(())
    }

    fn push(&mut self, field: &[u8]) {
        self.text.extend_from_slice(field);
        self.ends.push(self.text.len());
    }

    pub fn names(&self) -> &[String] {
        &self.names
    }

    fn rows(&self) -> usize {
        self.ends.len() / self.names.len().max(1)
    }

    /// The text of field number `field` in the row of operation number `seq` on `key`.
    #[inline]
    pub fn field(&self, seq: u64, key: u64, field: usize) -> &[u8] {
        let rows = self.rows() as u64;
        let row = match self.order {
            DataOrder::Sequential => seq % rows,
            DataOrder::Uniform => Rng::new(self.seed ^ ROWS_STREAM, seq).below(rows),
            DataOrder::Key => key % rows,
        };
        self.cell(row as usize, field)
    }

    fn cell(&self, row: usize, field: usize) -> &[u8] {
        let place = row * self.names.len() + field;
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[place]]
    }

    /// Whether `text` is the document of the operation's row: its bytes, or the same JSON written in another way.
    pub fn is_document(&self, seq: u64, key: u64, text: &[u8]) -> bool {
        let Some(place) = self.names.iter().position(|name| name == DOCUMENT) else {
            return false;
        };
        let document = self.field(seq, key, place);
        document == text || is_same_json(document, text)
    }

    /// The first row, counted from 1, whose field holds a byte that is not `allowed`.
    pub fn row_with_other_bytes(&self, field: usize, allowed: fn(u8) -> bool) -> Option<usize> {
        (0..self.rows()).find(|&row| !self.cell(row, field).iter().all(|&byte| allowed(byte))).map(|row| row + 1)
    }
}

/// Whether both texts are JSON, and of the same value.
fn is_same_json(one: &[u8], other: &[u8]) -> bool {
    let read = |text| serde_json::from_slice::<serde_json::Value>(text).ok();
    read(one).is_some_and(|value| Some(value) == read(other))
}

/// The format that the plan names, or the ending of the file's name.
fn format(file: &DataFile) -> Result<DataFormat, PlanError> {
    let ending = file.path.rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    match (file.format, ending.as_deref()) {
        (Some(format), _) => Ok(format),
        (None, Some("csv")) => Ok(DataFormat::Csv),
        (None, Some("jsonl" | "ndjson")) => Ok(DataFormat::Jsonl),
        _ => {
            let message =
                format!("is missing, and `{}` ends neither in .csv nor in .jsonl; name csv or jsonl", file.path);
            Err(PlanError::new("data.format", message))
        }
    }
}

/// The system's error text, without its number.
fn system_text(error: &Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    struct Written(PathBuf);

    impl Drop for Written {
        fn drop(&mut self) {
            let _ = std::fs::remove_file(&self.0);
        }
    }

    fn load(name: &str, text: &str, order: DataOrder) -> Result<Data, PlanError> {
        let path = std::env::temp_dir().join(format!("loadstone-data-{}-{name}", std::process::id()));
        let written = Written(path);
        std::fs::write(&written.0, text).unwrap();
        let path = written.0.to_str().unwrap().to_string();
        Data::load(&DataFile { path, format: None, order }, 7)
    }

    fn row(data: &Data, seq: u64) -> Vec<String> {
        (0..data.names().len()).map(|field| String::from_utf8(data.field(seq, 0, field).to_vec()).unwrap()).collect()
    }

    #[test]
    fn csv_rows_come_in_order_and_again() {
        let text = "\u{feff}id,title\r\n1,\"a, \"\"b\"\"\"\r\n2,\r\n3,größe\r\n";
        let data = load("order.csv", text, DataOrder::Sequential).unwrap();
        assert_eq!(data.names(), ["id", "title"]);
        assert_eq!(row(&data, 0), ["1", "a, \"b\""]);
        assert_eq!(row(&data, 1), ["2", ""]);
        assert_eq!(row(&data, 5), ["3", "größe"]);
    }

    #[test]
    fn json_lines_give_texts_as_they_are_and_all_else_as_json() {
        let text = "{\"b\": \"x\\ny\", \"a\": 1.5}\n\n{\"a\": {\"c\": [true, null]}, \"b\": \"\", \"more\": 1}\n";
        let data = load("values.jsonl", text, DataOrder::Sequential).unwrap();
        assert_eq!(data.names(), ["a", "b"]);
        assert_eq!(row(&data, 0), ["1.5", "x\ny"]);
        assert_eq!(row(&data, 1), ["{\"c\":[true,null]}", ""]);
    }

    #[test]
    fn rows_are_drawn_evenly_and_the_same_again() {
        let data = load("uniform.csv", "n\n0\n1\n2\n3\n", DataOrder::Uniform).unwrap();
        let mut counts = [0; 4];
        for seq in 0..4000 {
            assert_eq!(row(&data, seq), row(&data, seq));
            counts[row(&data, seq)[0].parse::<usize>().unwrap()] += 1;
        }
        assert!(counts.iter().all(|&count| (800..1200).contains(&count)), "{counts:?}");
    }

    fn documents(name: &str, text: &str) -> Result<Data, PlanError> {
        let path = std::env::temp_dir().join(format!("loadstone-data-{}-{name}", std::process::id()));
        let written = Written(path);
        std::fs::write(&written.0, text).unwrap();
        let path = written.0.to_str().unwrap().to_string();
        Data::load(&DataFile { path, format: Some(DataFormat::Documents), order: DataOrder::Key }, 7)
    }

    #[test]
    fn a_document_is_taken_as_it_stands_and_each_key_has_its_own() {
        let data = documents("plain.jsonl", " {\"b\": 1.0, \"a\": [\"\\u00e9\"]}\n\n\"text\"\n").unwrap();
        assert_eq!(data.names(), ["document"]);
        let of = |key| String::from_utf8(data.field(9, key, 0).to_vec()).unwrap();
        assert_eq!([of(0), of(1), of(2)], [r#"{"b": 1.0, "a": ["\u00e9"]}"#, r#""text""#, &of(0)]);
        assert!(data.is_document(9, 0, "{\"a\":[\"é\"],\"b\":1.0}".as_bytes()), "the same JSON");
        assert!(!data.is_document(9, 0, br#"{"a":["e"],"b":1.0}"#) && !data.is_document(9, 1, b"text"));
    }

    #[test]
    fn documents_may_have_names_and_then_texts_are_their_characters() {
        let data =
            documents("named.jsonl", "{\"key\":\"user:1\",\"value\":{\"a\":1}}\n{\"value\":\"a\\nb\",\"key\":\"x\"}\n");
        let data = data.unwrap();
        assert_eq!(data.names(), ["document", "key"]);
        assert_eq!((data.field(0, 0, 0), data.field(0, 0, 1)), (&b"{\"a\":1}"[..], &b"user:1"[..]));
        assert_eq!((data.field(0, 1, 0), data.field(0, 1, 1)), (&b"a\nb"[..], &b"x"[..]));
        let wrong = documents("mixed.jsonl", "{\"key\":\"a\",\"value\":1}\n{\"a\":1}\n").unwrap_err();
        assert!(wrong.message.contains("line 2 has no `key` and `value`"), "{wrong}");
        let wrong = documents("broken.jsonl", "{\"a\":1}\n{\"a\"\n").unwrap_err();
        assert!(wrong.message.contains("line 2 is no JSON"), "{wrong}");
    }

    #[test]
    fn bytes_that_are_not_allowed_are_found_with_their_row() {
        let data = load("bytes.csv", "a,b\nx,y\nx,y z\n", DataOrder::Sequential).unwrap();
        assert_eq!(data.row_with_other_bytes(0, |byte| byte != b' '), None);
        assert_eq!(data.row_with_other_bytes(1, |byte| byte != b' '), Some(2));
    }

    #[test]
    fn a_file_that_cannot_be_used_is_named_with_the_reason() {
        for (name, text, part) in [
            ("short.csv", "a,b\n1\n", "record 1"),
            ("empty.csv", "a,b\n", "holds no rows"),
            ("none.csv", "", "holds no rows"),
            ("twice.csv", "a,a\n1,2\n", "the field `a` is there twice"),
            ("text.jsonl", "{\"a\": 1}\n[1]\n", "line 2 is no object"),
            ("cut.jsonl", "{\"a\": 1", "line 1 is no object"),
            ("lacks.jsonl", "{\"a\": 1}\n{\"b\": 1}\n", "line 2 lacks the field `a`"),
        ] {
            let error = load(name, text, DataOrder::Sequential).unwrap_err();
            assert_eq!(error.field, "data.path");
            assert!(error.message.contains(name) && error.message.contains(part), "{error}");
        }
        assert_eq!(load("rows.txt", "a\n1\n", DataOrder::Sequential).unwrap_err().field, "data.format");
        let nowhere = DataFile { path: "/no/such.csv".into(), format: None, order: DataOrder::Sequential };
        let error = Data::load(&nowhere, 1).unwrap_err();
        assert_eq!(error.to_string(), "data.path: `/no/such.csv`: No such file or directory");
    }
}
