package loadstone.driver.client;

import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.util.List;
import javax.net.ssl.SNIHostName;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;
import loadstone.driver.plan.Plan.Tls;
import loadstone.driver.plan.Refused;

/** Whom a TLS connection trusts, from the plan. */
public final class Trust {
  private Trust() {}

  /** The plan's CA, or the JVM's own roots. */
  public static TrustManagerFactory authorities(Tls tls) throws Refused {
    try {
      TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
      factory.init(tls.caFile() == null ? null : keyStore(Path.of(tls.caFile())));
      return factory;
    } catch (GeneralSecurityException | IOException error) {
      throw new Refused("endpoints.tls.ca_file", tls.caFile() + ": cannot be read (" + error.getMessage() + ")");
    }
  }

  /** The same; whoever answers, where the plan verifies nothing. */
  public static TrustManager[] managers(Tls tls) throws Refused {
    return tls.verify() ? authorities(tls).getTrustManagers() : new TrustManager[] {new Anyone()};
  }

  /** The name that the server is addressed by, where it is not its host's; and that its certificate must have it. */
  public static SSLParameters parameters(Tls tls) {
    SSLParameters parameters = new SSLParameters();
    if (tls.serverName() != null) {
      parameters.setServerNames(List.of(new SNIHostName(tls.serverName())));
    }
    if (tls.verify()) {
      parameters.setEndpointIdentificationAlgorithm("HTTPS");
    }
    return parameters;
  }

  private static KeyStore keyStore(Path file) throws GeneralSecurityException, IOException {
    KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
    store.load(null, null);
    try (InputStream stream = Files.newInputStream(file)) {
      for (Certificate certificate : CertificateFactory.getInstance("X.509").generateCertificates(stream)) {
        store.setCertificateEntry("ca-" + store.size(), certificate);
      }
    }
    return store;
  }

  private static final class Anyone extends X509ExtendedTrustManager {
    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type) {}

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket) {}

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine) {}

    @Override
    public X509Certificate[] getAcceptedIssuers() {
      return new X509Certificate[0];
    }
  }
}
