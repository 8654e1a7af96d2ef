package loadstone.spring.redis;

import io.micrometer.core.instrument.binder.commonspool2.CommonsObjectPool2Metrics;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;

/** Tells Prometheus how many connections of a pool, of Jedis or of Lettuce, are in use, and who waits for one. */
@Configuration
class PoolMetrics {

    @Bean
    CommonsObjectPool2Metrics connectionPools() {
        return new CommonsObjectPool2Metrics();
    }
}
