//! TLS.

use crate::http;
use crate::support::{drive, plan, server};
use loadstone_engine::drive::Drive;
use loadstone_engine::null_server::NullProtocol;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;

/// A thread that takes TLS connections and speaks to a null server in the clear.
pub struct TlsFront {
    port: u16,
    pub ca_file: PathBuf,
}

impl TlsFront {
    pub fn start(name: &str, behind: u16) -> Self {
        let CertifiedKey { cert, signing_key } = generate_simple_self_signed(vec!["localhost".into()]).unwrap();
        let ca_file = std::env::temp_dir().join(format!("loadstone-{name}-{}.pem", std::process::id()));
        std::fs::write(&ca_file, cert.pem()).unwrap();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
        let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let config = Arc::new(config);
        std::thread::spawn(move || {
            for socket in listener.incoming().flatten() {
                let tls = ServerConnection::new(config.clone()).unwrap();
                let behind = TcpStream::connect(("127.0.0.1", behind)).unwrap();
                std::thread::spawn(move || pass(StreamOwned::new(tls, socket), behind));
            }
        });
        Self { port, ca_file }
    }

    pub fn endpoint(&self, tls: Value) -> Value {
        json!({"endpoints": [{"host": "127.0.0.1", "port": self.port, "tls": tls}]})
    }
}

impl Drop for TlsFront {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.ca_file);
    }
}

/// One request, one reply: enough for a pipeline depth of 1.
fn pass(mut front: StreamOwned<ServerConnection, TcpStream>, mut behind: TcpStream) {
    let mut bytes = [0; 4096];
    while let Ok(count @ 1..) = front.read(&mut bytes) {
        behind.write_all(&bytes[..count]).unwrap();
        let count = behind.read(&mut bytes).unwrap_or(0);
        if front.write_all(&bytes[..count]).is_err() {
            return;
        }
    }
}

#[test]
fn a_drive_over_tls_with_and_without_verification() {
    let server = server(|_| {});
    let front = TlsFront::start("tls", server.port());
    let verified = json!({"ca_file": front.ca_file, "server_name": "localhost"});
    for tls in [verified, json!({"verify": false})] {
        let record = drive(plan(0, front.endpoint(tls))).record;
        assert!(record.total.ok > 0);
        assert_eq!(record.connections.lost, 0);
    }
}

/// Fault: no TLS, or a certificate of another CA or name
#[test]
fn a_certificate_that_cannot_be_verified_is_refused() {
    let server = server(|_| {});
    let front = TlsFront::start("wrong-name", server.port());
    let wrong_name = json!({"ca_file": front.ca_file, "server_name": "elsewhere"});
    let why = Drive::new(plan(0, front.endpoint(wrong_name))).unwrap().start().unwrap_err().to_string();
    assert!(why.contains("certificate"), "{why}");
}

#[test]
fn a_file_that_is_not_there_is_named_with_its_field() {
    let changes = json!({"endpoints": [{"tls": {"ca_file": "/no/such/file.pem"}}]});
    let error = Drive::new(plan(0, changes)).unwrap_err();
    assert_eq!(error.field, "endpoints[0].tls.ca_file");
    assert!(error.message.contains("/no/such/file.pem"), "{error}");
}

/// Fault: no TLS, or a certificate of another CA or name
#[test]
fn a_drive_of_http_over_tls_is_verified_before_anything_is_sent() {
    let server = server(|options| options.protocol = NullProtocol::Http1);
    let front = TlsFront::start("http", server.port());
    for tls in [json!({"ca_file": front.ca_file, "server_name": "localhost"}), json!({"verify": false})] {
        let record = drive(http::plan(0, front.endpoint(tls))).record;
        assert_eq!((record.total.ok, record.connections.lost), (200, 0));
    }
    let before = server.commands();
    let wrong_name = json!({"ca_file": front.ca_file, "server_name": "elsewhere"});
    let why = Drive::new(http::plan(0, front.endpoint(wrong_name))).unwrap().start().unwrap_err().to_string();
    assert!(why.contains("certificate"), "{why}");
    assert_eq!(server.commands(), before);
}

/// Fault: an attacker removes TLS on the network path
#[test]
fn a_service_without_tls_is_refused_at_the_start() {
    let server = server(|options| options.protocol = NullProtocol::Http1);
    let changes = json!({"endpoints": [{"port": server.port(), "tls": {"verify": false}}]});
    let why = Drive::new(http::plan(0, changes)).unwrap().start().unwrap_err().to_string();
    assert!(why.contains(&format!("127.0.0.1:{}: ", server.port())), "{why}");
}
