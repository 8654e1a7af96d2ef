//! TLS of the client: what is trusted, and which name and certificate are shown.

use crate::plan::{Endpoint, PlanError, Tls};
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use std::sync::Arc;

/// Makes the TLS side of each new connection to one endpoint.
#[derive(Debug, Clone)]
pub struct TlsConnector {
    config: Arc<ClientConfig>,
    server_name: ServerName<'static>,
}

impl TlsConnector {
    /// Reads the files that `tls` names; `field` (e.g. `endpoints[0].tls`) is what errors name. `alpn` is the name
    /// of the protocol that is requested, if it has one.
    pub fn new(endpoint: &Endpoint, tls: &Tls, alpn: Option<&str>, field: &str) -> Result<Self, PlanError> {
        let name = tls.server_name.clone().unwrap_or_else(|| endpoint.host.clone());
        let server_name = ServerName::try_from(name.clone()).map_err(|_| {
            PlanError::new(format!("{field}.server_name"), format!("`{name}` is neither a host name nor an address"))
        })?;
        let provider = Arc::new(ring::default_provider());
        let wrong = |error: Error| PlanError::new(field, error.to_string());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(wrong)?;
        let verifier: Arc<dyn ServerCertVerifier> = if tls.verify {
            let roots = Arc::new(roots(tls, field)?);
            WebPkiServerVerifier::builder_with_provider(roots, provider)
                .build()
                .map_err(|error| PlanError::new(field, error.to_string()))?
        } else {
            Arc::new(AcceptAny(provider))
        };
        let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
        let mut config = match (&tls.cert_file, &tls.key_file) {
            (None, None) => builder.with_no_client_auth(),
            (Some(cert_file), Some(key_file)) => {
                let chain = certificates(cert_file, &format!("{field}.cert_file"))?;
                let key = PrivateKeyDer::from_pem_file(key_file)
                    .map_err(|error| PlanError::new(format!("{field}.key_file"), format!("`{key_file}`: {error}")))?;
                builder.with_client_auth_cert(chain, key).map_err(wrong)?
            }
            (Some(_), None) => return Err(PlanError::new(format!("{field}.key_file"), "is missing beside cert_file")),
            (None, Some(_)) => return Err(PlanError::new(format!("{field}.cert_file"), "is missing beside key_file")),
        };
        config.alpn_protocols = alpn.iter().map(|name| name.as_bytes().to_vec()).collect();
        Ok(Self { config: Arc::new(config), server_name })
    }

    /// The TLS side of a new connection.
    pub fn connect(&self) -> Result<ClientConnection, Error> {
        ClientConnection::new(self.config.clone(), self.server_name.clone())
    }
}

/// What an error of TLS says, for a person: of a certificate why it is not accepted, and what helps.
pub fn explained(error: &Error) -> String {
    let Error::InvalidCertificate(problem) = error else { return error.to_string() };
    let (said, remedy) = match problem {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            ("it has expired".to_owned(), "have it renewed on the server")
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            ("it is not valid yet".to_owned(), "check this machine's clock, or have it renewed on the server")
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            ("it is for another name".to_owned(), "give the name that it is made for as server_name")
        }
        CertificateError::UnknownIssuer => {
            ("it is signed by a CA that is not trusted here".to_owned(), "name the file of that CA as ca_file")
        }
        CertificateError::Other(other) if other.to_string().contains("CaUsedAsEndEntity") => (
            "it is self-signed as that of a CA".to_owned(),
            "give the server one that is not, with CA:FALSE in it, and name its signer's file as ca_file",
        ),
        other => (other.to_string(), "name the file of the CA that signed it as ca_file"),
    };
    format!("its certificate is not accepted ({said}); {remedy}, or give up verification with verify=no")
}

fn roots(tls: &Tls, field: &str) -> Result<RootCertStore, PlanError> {
    let mut store = RootCertStore::empty();
    if let Some(ca_file) = &tls.ca_file {
        let field = format!("{field}.ca_file");
        for certificate in certificates(ca_file, &field)? {
            store.add(certificate).map_err(|error| PlanError::new(&field, format!("`{ca_file}`: {error}")))?;
        }
        return Ok(store);
    }
    store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    if store.is_empty() {
        return Err(PlanError::new(
            format!("{field}.ca_file"),
            "is missing, and this machine has no root certificates",
        ));
    }
    Ok(store)
}

fn certificates(file: &str, field: &str) -> Result<Vec<CertificateDer<'static>>, PlanError> {
    let wrong = |why: String| PlanError::new(field, format!("`{file}`: {why}"));
    let read = CertificateDer::pem_file_iter(file).map_err(|error| wrong(error.to_string()))?;
    let certificates: Vec<_> = read.collect::<Result<_, _>>().map_err(|error| wrong(error.to_string()))?;
    if certificates.is_empty() {
        return Err(wrong("holds no certificate in PEM".into()));
    }
    Ok(certificates)
}

/// Accepts every certificate (`verify: false`), but still checks that the peer holds its key.
#[derive(Debug)]
struct AcceptAny(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAny {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signature, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
