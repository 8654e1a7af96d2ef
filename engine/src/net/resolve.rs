//! Endpoints before the load starts: names become addresses, TLS settings become connectors.

use crate::net::line::Target;
use crate::net::tls::TlsConnector;
use crate::plan::{Endpoint, Plan, PlanError};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

/// The TLS side of each endpoint.
pub fn tls_of(plan: &Plan) -> Result<Vec<Option<TlsConnector>>, PlanError> {
    let alpn = plan.protocol.capabilities().alpn;
    let connector = |(index, endpoint): (usize, &Endpoint)| {
        let tls = endpoint.tls.as_ref();
        tls.map(|tls| TlsConnector::new(endpoint, tls, alpn, &format!("endpoints[{index}].tls"))).transpose()
    };
    plan.endpoints.iter().enumerate().map(connector).collect()
}

/// Where the connections of each endpoint go. The error names the endpoint and the system's error.
pub fn targets(plan: &Plan, tls: Vec<Option<TlsConnector>>) -> Result<Arc<[Target]>, String> {
    let patience = Duration::from_secs_f64(plan.timeouts.connect_ms / 1000.0);
    let target = |(endpoint, tls): (&Endpoint, Option<TlsConnector>)| {
        let address = match &endpoint.unix_path {
            Some(_) => None,
            None => Some(resolve(endpoint, patience).map_err(|why| format!("{}: {why}", endpoint.label()))?),
        };
        Ok(Target { endpoint: endpoint.clone(), address, tls })
    };
    plan.endpoints.iter().zip(tls).map(target).collect()
}

/// The address of a name; of several, the first that takes a connection.
fn resolve(endpoint: &Endpoint, patience: Duration) -> Result<SocketAddr, String> {
    let found = (endpoint.host.as_str(), endpoint.port).to_socket_addrs().map_err(|error| error.to_string())?;
    let addresses: Vec<SocketAddr> = found.collect();
    let answers = |address: &&SocketAddr| TcpStream::connect_timeout(address, patience).is_ok();
    let answering = if addresses.len() > 1 { addresses.iter().find(answers) } else { None };
    answering.or(addresses.first()).copied().ok_or_else(|| "the name has no address".into())
}
