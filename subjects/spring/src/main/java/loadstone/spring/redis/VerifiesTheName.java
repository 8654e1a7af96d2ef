package loadstone.spring.redis;

import javax.net.ssl.SSLParameters;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.data.redis.autoconfigure.JedisClientConfigurationBuilderCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * Jedis compares no certificate with the name of the server that it was given: whoever has one of a trusted authority,
 * for whatever name, would get the password. Lettuce compares them by itself.
 */
@Configuration
@ConditionalOnProperty(name = "spring.data.redis.client-type", havingValue = "jedis")
class VerifiesTheName {

    @Bean
    JedisClientConfigurationBuilderCustomizer verifyTheName() {
        return builder -> {
            var settings = builder.build();
            if (settings.isUseSsl()) {
                var parameters = settings.getSslParameters().orElseGet(SSLParameters::new);
                parameters.setEndpointIdentificationAlgorithm("HTTPS");
                builder.useSsl().sslParameters(parameters);
            }
        };
    }
}
