package loadstone.spring.redis;

import io.lettuce.core.MaintNotificationsConfig;
import org.springframework.boot.data.redis.autoconfigure.LettuceClientOptionsBuilderCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/**
 * Lettuce obeys notices of maintenance: by one ({@code MOVING}) a server could send it, and the password, to any other
 * host. The application speaks to the server that it was given, and to no other.
 */
@Configuration
class StaysAtItsHost {

    @Bean
    LettuceClientOptionsBuilderCustomizer obeyNoNotices() {
        return options -> options.maintNotificationsConfig(MaintNotificationsConfig.disabled());
    }
}
