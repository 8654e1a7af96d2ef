//! Whether a JSON text has a value at a place, found in passing: nothing is built.

use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use std::fmt;

/// Whether `text` is JSON and has a value at `path`: names of fields, and numbers of elements from 0.
pub fn has_field(text: &[u8], path: &[String]) -> bool {
    let mut deserializer = serde_json::Deserializer::from_slice(text);
    let found = Field(path).deserialize(&mut deserializer);
    found.is_ok_and(|found| found) && deserializer.end().is_ok()
}

/// Searches for the value at a path below the current value.
struct Field<'p>(&'p [String]);

impl<'de> DeserializeSeed<'de> for Field<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        if self.0.is_empty() {
            return deserializer.deserialize_ignored_any(IgnoredAny).map(|_| true);
        }
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Field<'_> {
    type Value = bool;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("any JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let (name, below) = self.0.split_first().ok_or_else(|| A::Error::custom("an empty path"))?;
        let mut found = false;
        while let Some(is_it) = map.next_key_seed(Is(name))? {
            if is_it {
                found |= map.next_value_seed(Field(below))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(found)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<bool, A::Error> {
        let (name, below) = self.0.split_first().ok_or_else(|| A::Error::custom("an empty path"))?;
        let mut before = name.parse::<usize>().ok();
        let mut found = false;
        loop {
            let item = match before {
                Some(0) => items.next_element_seed(Field(below))?.inspect(|&is_there| found = is_there).map(drop),
                _ => items.next_element::<IgnoredAny>()?.map(drop),
            };
            if item.is_none() {
                return Ok(found);
            }
            before = before.and_then(|before| before.checked_sub(1));
        }
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_str<E: Error>(self, _: &str) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_unit<E: Error>(self) -> Result<bool, E> {
        Ok(false)
    }
}

/// Whether a name is this one.
struct Is<'p>(&'p str);

impl<'de> DeserializeSeed<'de> for Is<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl Visitor<'_> for Is<'_> {
    type Value = bool;

    fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<bool, E> {
        Ok(name == self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_by_names_and_numbers() {
        let text = br#" {"a": {"b": [1, {"c\n": null}, "x"]}, "d": false, "e": "\u0041", "0": [[2.5]]} "#;
        let has = |path: &str| has_field(text, &path.split('.').map(String::from).collect::<Vec<_>>());
        for path in ["a", "a.b", "a.b.0", "a.b.1", "a.b.1.c\n", "a.b.2", "d", "e", "0.0.0"] {
            assert!(has(path), "{path}");
        }
        for path in ["b", "a.c", "a.b.3", "a.b.x", "a.b.1.c", "a.b.0.x", "d.x", "e.x", "0.0.1", "0.0.0.0", "a.b.-1"] {
            assert!(!has(path), "{path}");
        }
    }

    #[test]
    fn what_is_no_json_has_nothing() {
        let path = ["a".to_string()];
        for text in ["", "{", "{\"a\": }", "{\"a\": 1} x", "<a>1</a>", "{\"a\": 1", "nul"] {
            assert!(!has_field(text.as_bytes(), &path), "{text}");
        }
        assert!(!has_field(&[b"{\"a\": \"".as_slice(), &[0xff], b"\"".as_slice()].concat(), &path));
    }
}
