package loadstone.spring.feed;

import java.util.List;
import loadstone.spring.redis.JsonCache;
import org.springframework.http.HttpStatus;
import org.springframework.http.MediaType;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.web.bind.annotation.GetMapping;
import org.springframework.web.bind.annotation.RequestParam;
import org.springframework.web.bind.annotation.RestController;
import org.springframework.web.server.ResponseStatusException;

/** A home feed: the newest posts, ten a page, cached by page. */
@RestController
class FeedController {

    private static final int POSTS_A_PAGE = 10;

    private final JdbcClient jdbc;
    private final JsonCache cache;

    FeedController(JdbcClient jdbc, JsonCache cache) {
        this.jdbc = jdbc;
        this.cache = cache;
    }

    record FeedPost(long id, String title, String content) {}

    @GetMapping(path = "/api/feed", produces = MediaType.APPLICATION_JSON_VALUE)
    String read(@RequestParam int page) {
        if (page < 1) {
            throw new ResponseStatusException(HttpStatus.BAD_REQUEST, "pages count from 1");
        }
        return cache.json("feed:" + page, () -> posts(page));
    }

    private List<FeedPost> posts(int page) {
        return jdbc.sql("SELECT id, title, content FROM post ORDER BY id DESC LIMIT ? OFFSET ?")
                .params(POSTS_A_PAGE, (long) POSTS_A_PAGE * (page - 1))
                .query(FeedPost.class)
                .list();
    }
}
