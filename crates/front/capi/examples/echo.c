/* A server that replies with what it is sent, and a client of it.
 *
 *     echo serve ADDRESS            until a call says "stop"
 *     echo call ADDRESS TEXT...     one call after the other
 *
 * Nothing is encrypted: for a network that is trusted. Options.secret has a file instead. */

#include <stdio.h>
#include <string.h>

#include "incast.h"

static int failed(const char *what, const incast_error *error) {
    fprintf(stderr, "%s: %s\n", what, error->message);
    return 1;
}

static int serve(incast_host *host) {
    incast_error error;
    char address[64];
    if (incast_address(host, address, sizeof address, &error) != INCAST_OK)
        return failed("address", &error);
    printf("listening at %s\n", address);
    fflush(stdout);
    for (int stop = 0; !stop;) {
        incast_request *request;
        int code = incast_accept(host, 60.0, &request, &error);
        if (code == INCAST_TIMED_OUT)
            continue;
        if (code != INCAST_OK)
            return failed("accept", &error);
        size_t bytes;
        const uint8_t *body = incast_request_body(request, &bytes);
        stop = bytes == 4 && memcmp(body, "stop", 4) == 0;
        if (!incast_wants_reply(request))
            incast_request_free(request);
        else if (bytes == 0)
            code = incast_refuse(request, "an empty call has no echo", &error);
        else
            code = incast_reply(request, body, bytes, &error);
        if (code != INCAST_OK) {
            incast_request_free(request);
            return failed("reply", &error);
        }
    }
    /* The last reply is on its way: a host that is closed sends nothing any more. */
    incast_request *request;
    if (incast_accept(host, 0.2, &request, NULL) == INCAST_OK)
        incast_request_free(request);
    return 0;
}

static int call(incast_host *host, const char *address, char **texts, int count) {
    incast_error error;
    incast_peer *peer;
    if (incast_connect(host, address, NULL, 5.0, &peer, &error) != INCAST_OK)
        return failed("connect", &error);
    int result = 0;
    for (int i = 0; i < count && result == 0; i++) {
        incast_bytes reply;
        const uint8_t *body = (const uint8_t *)texts[i];
        if (incast_call(peer, body, strlen(texts[i]), 5.0, &reply, &error) == INCAST_OK)
            printf("%.*s\n", (int)reply.bytes, (const char *)reply.data);
        else
            result = failed("call", &error);
        incast_bytes_free(&reply);
    }
    incast_peer_free(peer);
    return result;
}

int main(int argc, char **argv) {
    int serves = argc == 3 && strcmp(argv[1], "serve") == 0;
    if (!serves && (argc < 4 || strcmp(argv[1], "call") != 0)) {
        fprintf(stderr, "usage: echo serve ADDRESS | echo call ADDRESS TEXT...\n");
        return 2;
    }
    incast_options options;
    memset(&options, 0, sizeof options);
    options.size = sizeof options;
    options.address = serves ? argv[2] : "0.0.0.0:0";
    options.plaintext = true;
    options.only_connects = !serves;
    incast_host *host;
    incast_error error;
    if (incast_open(&options, &host, &error) != INCAST_OK)
        return failed("open", &error);
    int result = serves ? serve(host) : call(host, argv[2], argv + 3, argc - 3);
    incast_close(host);
    return result;
}
