//! Redis Cluster: which endpoint has a key.
//!
//! The plan knows the slots of each endpoint, so a command goes straight to the one that has it. Where a slot moves
//! in mid-run the node that had it says so (`MOVED`), and the table is corrected for all threads. Only endpoints of
//! the plan are ever gone to: a redirection to any other address is an error.

use crate::plan::{Endpoint, PlanError, WireKind};
use crate::wire::resp::SLOTS;
use crc::{CRC_16_XMODEM, Crc, Table};
use std::sync::atomic::{AtomicU16, Ordering};

static CRC: Crc<u16, Table<16>> = Crc::<u16, Table<16>>::new(&CRC_16_XMODEM);
/// A slot that no endpoint has.
const NOBODY: u16 = u16::MAX;

/// The endpoint of each slot, as far as is known by now.
#[derive(Debug)]
pub struct Slots {
    endpoint_of: Box<[AtomicU16]>,
    /// Host and port of each endpoint, as redirections name it.
    addresses: Box<[(String, u16)]>,
}

impl Slots {
    /// None if no endpoint has slots. Each slot must have exactly one endpoint; one without any is a node that slots may
    /// move to. The error names the endpoint and the slot.
    pub fn new(endpoints: &[Endpoint], protocol: WireKind) -> Result<Option<Self>, PlanError> {
        let Some(first) = endpoints.iter().position(|endpoint| !endpoint.slots.is_empty()) else {
            return Ok(None);
        };
        let capabilities = protocol.capabilities();
        if !capabilities.slots {
            let message = format!("only a Redis Cluster has slots; leave them out with protocol {}", capabilities.name);
            return Err(PlanError::new(field(first), message));
        }
        let mut endpoint_of = vec![NOBODY; SLOTS];
        for (index, endpoint) in endpoints.iter().enumerate() {
            let error = |message: String| PlanError::new(field(index), message);
            if endpoint.database != 0 {
                let message = format!("{}: a cluster has database 0 alone", endpoint.database);
                return Err(PlanError::new(format!("endpoints[{index}].database"), message));
            }
            for &(from, to) in &endpoint.slots {
                if from > to || usize::from(to) >= SLOTS {
                    return Err(error(format!("[{from}, {to}]: must be two slots from 0 to 16383, the smaller first")));
                }
                for slot in from..=to {
                    let holder = std::mem::replace(&mut endpoint_of[usize::from(slot)], index as u16);
                    if holder != NOBODY {
                        return Err(error(format!("slot {slot} belongs to endpoints[{holder}] too; give it to one")));
                    }
                }
            }
        }
        match endpoint_of.iter().position(|&endpoint| endpoint == NOBODY) {
            Some(slot) => Err(PlanError::new("endpoints", format!("no endpoint has slot {slot}; give it to one"))),
            None => Ok(Some(Self {
                endpoint_of: endpoint_of.into_iter().map(AtomicU16::new).collect(),
                addresses: endpoints.iter().map(|endpoint| (endpoint.host.clone(), endpoint.port)).collect(),
            })),
        }
    }

    /// How many endpoints there are.
    pub fn endpoints(&self) -> usize {
        self.addresses.len()
    }

    /// The endpoint that has `key`.
    #[inline]
    pub fn endpoint_of(&self, key: &[u8]) -> usize {
        self.endpoint_of_slot(slot_of(key) as u16)
    }

    /// The endpoint that has a slot.
    #[inline]
    pub fn endpoint_of_slot(&self, slot: u16) -> usize {
        usize::from(self.endpoint_of[usize::from(slot)].load(Ordering::Relaxed))
    }

    /// The endpoint with the address that endpoint number `from` named; without a host it means its own.
    pub fn endpoint_at(&self, from: usize, host: &str, port: u16) -> Option<usize> {
        let host = if host.is_empty() { &self.addresses[from].0 } else { host };
        self.addresses.iter().position(|(known, known_port)| *known_port == port && known.eq_ignore_ascii_case(host))
    }

    /// A slot is at another endpoint from now on, for all threads. Where it was before.
    pub fn moved(&self, slot: u16, endpoint: usize) -> usize {
        usize::from(self.endpoint_of[usize::from(slot)].swap(endpoint as u16, Ordering::Relaxed))
    }
}

fn field(endpoint: usize) -> String {
    format!("endpoints[{endpoint}].slots")
}

/// The slot of `key`: that of its hash tag where it has one.
#[inline]
pub fn slot_of(key: &[u8]) -> usize {
    usize::from(CRC.checksum(hash_tag(key).unwrap_or(key))) % SLOTS
}

/// What stands in the first braces, if anything does.
#[inline]
fn hash_tag(key: &[u8]) -> Option<&[u8]> {
    let from = memchr::memchr(b'{', key)? + 1;
    let length = memchr::memchr(b'}', &key[from..]).filter(|&length| length > 0)?;
    Some(&key[from..from + length])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn endpoints(slots: &[&[(u16, u16)]]) -> Vec<Endpoint> {
        slots.iter().map(|slots| Endpoint { slots: slots.to_vec(), ..Endpoint::default() }).collect()
    }

    fn error(slots: &[&[(u16, u16)]]) -> String {
        Slots::new(&endpoints(slots), WireKind::Resp2).unwrap_err().to_string()
    }

    #[test]
    fn slots_are_those_of_redis() {
        // As CLUSTER KEYSLOT reports them.
        assert_eq!(slot_of(b"123456789"), 0x31C3);
        assert_eq!(slot_of(b"foo"), 12_182);
        assert_eq!(slot_of(b""), 0);
        assert_eq!(slot_of(b"{user1000}.following"), slot_of(b"{user1000}.followers"));
        assert_eq!(slot_of(b"a{user1000}b{x}"), slot_of(b"user1000"));
        assert_eq!(slot_of(b"foo{{bar}}zap"), slot_of(b"{bar"));
    }

    #[test]
    fn braces_around_nothing_or_without_an_end_are_no_tag() {
        for key in [&b"foo{}{bar}"[..], b"foo{bar", b"foo}bar{"] {
            assert_eq!(hash_tag(key), None, "{}", String::from_utf8_lossy(key));
        }
    }

    #[test]
    fn each_slot_has_its_endpoint() {
        let slots = endpoints(&[&[(0, 99), (12_182, 12_182)], &[(100, 12_181), (12_183, 16_383)]]);
        let slots = Slots::new(&slots, WireKind::Resp3).unwrap().unwrap();
        assert_eq!((slots.endpoint_of(b"foo"), slots.endpoint_of(b""), slots.endpoint_of(b"123456789")), (0, 0, 1));
        assert!(Slots::new(&endpoints(&[&[], &[]]), WireKind::Resp2).unwrap().is_none());
    }

    #[test]
    fn a_slot_that_moved_is_at_its_new_endpoint() {
        let mut nodes = endpoints(&[&[(0, 16_383)], &[]]);
        (nodes[0].host, nodes[0].port, nodes[1].host, nodes[1].port) = ("Node-1".into(), 7000, "10.0.0.2".into(), 7001);
        let slots = Slots::new(&nodes, WireKind::Resp2).unwrap().unwrap();
        assert_eq!((slots.endpoints(), slots.endpoint_of(b"foo"), slots.endpoint_of(b"123456789")), (2, 0, 0));
        assert_eq!((slots.moved(12_182, 1), slots.moved(12_182, 1)), (0, 1));
        assert_eq!((slots.endpoint_of(b"foo"), slots.endpoint_of(b"123456789")), (1, 0));
        assert_eq!(slots.endpoint_at(0, "10.0.0.2", 7001), Some(1));
        assert_eq!((slots.endpoint_at(1, "node-1", 7000), slots.endpoint_at(0, "", 7000)), (Some(0), Some(0)));
        for (host, port) in [("10.0.0.2", 7000), ("169.254.169.254", 80), ("", 7001)] {
            assert_eq!(slots.endpoint_at(0, host, port), None, "{host}:{port}");
        }
    }

    #[test]
    fn a_slot_with_no_endpoint_or_two_is_named() {
        assert_eq!(error(&[&[(0, 8000)], &[(8002, 16_383)]]), "endpoints: no endpoint has slot 8001; give it to one");
        let twice = error(&[&[(0, 8000)], &[(8000, 16_383)]]);
        assert_eq!(twice, "endpoints[1].slots: slot 8000 belongs to endpoints[0] too; give it to one");
        for wrong in [(0, 16_384), (2, 1)] {
            assert!(error(&[&[wrong]]).contains("the smaller first"));
        }
    }

    #[test]
    fn only_a_cluster_of_redis_has_slots() {
        let all = endpoints(&[&[(0, 16_383)]]);
        assert_eq!(Slots::new(&all, WireKind::Http1).unwrap_err().field, "endpoints[0].slots");
        let other = vec![Endpoint { database: 3, ..all[0].clone() }];
        let error = Slots::new(&other, WireKind::Resp2).unwrap_err();
        assert_eq!(error.to_string(), "endpoints[0].database: 3: a cluster has database 0 alone");
    }
}
