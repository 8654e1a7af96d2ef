//! What stands for a thread's io_uring on a system that has none: there is no value of it.

use super::back_end::WhyNot;
use super::event::Event;
use super::inbox::Arrived;
use super::line::Received;
use super::spin::Spin;
use crate::machine::clock::Clock;
use std::fs::File;
use std::io;
use std::os::fd::RawFd;
use std::sync::Arc;

#[derive(Debug)]
pub enum Ring {}

pub fn why_not() -> Option<WhyNot> {
    Some(WhyNot::Missing)
}

pub fn reason(_error: &io::Error) -> WhyNot {
    WhyNot::Missing
}

impl Ring {
    pub fn new(_connections: usize, _clock: Clock, _spin_ns: u64) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn set_clock(&mut self, _clock: Clock) {
        match *self {}
    }

    pub fn spin(&mut self) -> &mut Spin {
        match *self {}
    }

    pub fn waker(&self) -> Arc<File> {
        match *self {}
    }

    pub fn failure(&self) -> Option<&io::Error> {
        match *self {}
    }

    pub fn left_some(&self) -> bool {
        match *self {}
    }

    pub fn open(&mut self, _number: usize, _socket: RawFd) -> io::Result<()> {
        match *self {}
    }

    pub fn await_room(&mut self, _number: usize) {
        match *self {}
    }

    pub fn arm(&mut self, _number: usize) {
        match *self {}
    }

    pub fn close(&mut self, _number: usize) {
        match *self {}
    }

    pub fn receive(&mut self, _number: usize, _room: &mut [u8]) -> io::Result<Received> {
        match *self {}
    }

    pub fn lend(&mut self, _number: usize) -> Option<Arrived> {
        match *self {}
    }

    pub fn give_back(&mut self, _arrived: Arrived) {
        match *self {}
    }

    pub fn settle(&mut self, _number: usize) -> usize {
        match *self {}
    }

    pub fn wait<'a>(
        &mut self,
        _events: &mut Vec<Event>,
        _now_and_until_ns: (u64, u64),
        _expects: bool,
        _sends: impl Iterator<Item = (usize, &'a [u8])>,
    ) {
        match *self {}
    }

    pub fn send<'a>(&mut self, _sends: impl Iterator<Item = (usize, &'a [u8])>) {
        match *self {}
    }
}
