//! A data file: rows whose fields stand in requests. It is read once, before the load starts.
//!
//! Which row an operation has follows from its number in the drive (and the seed), so that all its requests
//! and checks see the same row, and no thread keeps count.

use crate::load::rng::Rng;
use crate::plan::{DataFile, DataFormat, DataOrder, PlanError};
use std::fs::File;
use std::io::{BufRead, BufReader, Error};

/// Keeps the random numbers of rows apart from those of other placeholders.
const ROWS_STREAM: u64 = 0x726f_7773_6461_7461;

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

    /// The text of field number `field` in the row of operation number `seq`.
    #[inline]
    pub fn field(&self, seq: u64, field: usize) -> &[u8] {
        let rows = self.rows() as u64;
        let row = match self.order {
            DataOrder::Sequential => seq % rows,
            DataOrder::Uniform => Rng::new(self.seed ^ ROWS_STREAM, seq).below(rows),
        };
        self.cell(row as usize, field)
    }

    fn cell(&self, row: usize, field: usize) -> &[u8] {
        let place = row * self.names.len() + field;
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..self.ends[place]]
    }

    /// The first row, counted from 1, whose field holds a byte that is not `allowed`.
    pub fn row_with_other_bytes(&self, field: usize, allowed: fn(u8) -> bool) -> Option<usize> {
        (0..self.rows()).find(|&row| !self.cell(row, field).iter().all(|&byte| allowed(byte))).map(|row| row + 1)
    }
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
        (0..data.names().len()).map(|field| String::from_utf8(data.field(seq, field).to_vec()).unwrap()).collect()
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
