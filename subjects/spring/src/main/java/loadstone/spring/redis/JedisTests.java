package loadstone.spring.redis;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.boot.data.redis.autoconfigure.JedisClientConfigurationBuilderCustomizer;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Lets a pool of Jedis test its connections, which Spring Boot has no property for. */
@Configuration
@ConditionalOnProperty(name = "spring.data.redis.client-type", havingValue = "jedis")
class JedisTests {

    @Bean
    JedisClientConfigurationBuilderCustomizer testConnections(
            @Value("${subject.jedis.test-on-borrow:false}") boolean onBorrow,
            @Value("${subject.jedis.test-on-return:false}") boolean onReturn,
            @Value("${subject.jedis.test-while-idle:true}") boolean whileIdle) {
        return builder -> {
            var pool = builder.usePooling().build().getPoolConfig();
            pool.ifPresent(settings -> {
                settings.setTestOnBorrow(onBorrow);
                settings.setTestOnReturn(onReturn);
                settings.setTestWhileIdle(whileIdle);
            });
        };
    }
}
