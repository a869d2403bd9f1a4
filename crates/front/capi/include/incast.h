/* Messages and calls between hosts of one datacenter over UDP, under congestion control.
 *
 * Functions return INCAST_OK or the code of an error, which they also put into `error`, with a
 * sentence, unless it is NULL. What a function brings through a pointer is NULL or zero after an
 * error. A pointer that may not be NULL is checked for that alone: it has to point to what its
 * type says, which is not freed yet.
 *
 * What a function brings is the caller's, who frees it once, in any order: hosts by
 * incast_close, peers by incast_peer_free, requests by incast_request_free unless they were
 * answered, bytes by incast_bytes_free. NULL may be freed. What a function is given stays the
 * caller's, and may go as soon as the function returns.
 *
 * Hosts and peers may be used by several threads at once; a request, and what is being freed, by
 * one. Texts are UTF-8 and end with a zero. Times are in seconds; INFINITY waits for ever. */

#ifndef INCAST_H
#define INCAST_H

/* Made of crates/front/capi/src by cbindgen; crates/front/capi/tests/header.rs makes it again. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The code of success.
#define INCAST_OK 0

// The code of an argument that cannot be: a pointer that is NULL, a text that is no address.
#define INCAST_BAD_ARGUMENT 1

// The code of a host that cannot be opened: its address is taken, a file of keys is missing.
#define INCAST_CANNOT_OPEN 2

// The code of a peer that is gone, does not answer, or opens no connection with this host.
#define INCAST_GONE 3

// The code of a call that the peer has refused; the message has its reason.
#define INCAST_REFUSED 4

// The code of a time that is over. The message says whether the peer may have got what was sent.
#define INCAST_TIMED_OUT 5

// The code of a message that is longer than the peer takes.
#define INCAST_TOO_LONG 6

// The code of a message that has to wait: too much is on its way to the peer already.
#define INCAST_FULL 7

// The code of a host that was closed, or has stopped by an error of its socket.
#define INCAST_STOPPED 8

// The code of a defect of the library; the message says where.
#define INCAST_DEFECT 9

// The bytes of an error's message with the zero behind it. A longer one is cut.
#define INCAST_MESSAGE_BYTES 508

// A host, which sends and receives on a thread of its own.
typedef struct incast_host incast_host;

// A host at the other end of a connection.
typedef struct incast_peer incast_peer;

// A message from a peer: a call, which wants a reply, or a note.
typedef struct incast_request incast_request;

// The settings of a host. Set all bytes to zero, then `size` and `address`, and either a file of
// keys or `plaintext`.
typedef struct {
  // `sizeof(incast_options)`, by which a library refuses programs with another one's header.
  size_t size;
  // The address to bind to, such as `0.0.0.0:7000`; port 0 is any free one.
  const char *address;
  // The file of the secret that all hosts have (`incast udp key FILE --shared`). NULL for none.
  const char *secret;
  // The file of this host's key pair (`incast udp key FILE`). NULL for none.
  const char *identity;
  // The file of the public keys that may connect, beside a key pair. NULL for none.
  const char *peers;
  // No encryption: only where everybody is trusted.
  bool plaintext;
  // Whether the host connects to others, and they may not connect to it.
  bool only_connects;
  // The algorithm of what is sent from here, such as `timely:auto` or `dctcp`. NULL for
  // `timely:auto`.
  const char *algorithm;
  // Parameters of the algorithm, such as `t_low=100us`. Spaces stand between them; NULL for
  // none.
  const char *settings;
  // The most that a connection sends. NULL for `40Gbps`.
  const char *line_rate;
  // The rate of a real NIC: the algorithm's constants scale with it, and RTTs leave out a
  // segment's time on its wire. A virtual link has none, since sends leave at once. NULL for
  // none.
  const char *nic_rate;
  // The longest message that is received. In bytes; 0 for 64 MiB.
  size_t max_message;
} incast_options;

// An error, in memory of the caller.
typedef struct {
  // The code; `INCAST_OK` after success.
  int32_t code;
  // The sentence that tells what is wrong and what to do; empty after success.
  char message[INCAST_MESSAGE_BYTES];
} incast_error;

// Bytes that a function has brought.
typedef struct {
  // The bytes; NULL if there are none.
  uint8_t *data;
  // Their number.
  size_t bytes;
} incast_bytes;

#ifdef __cplusplus
extern "C" {
#endif // __cplusplus

// Opens a host.
int32_t incast_open(const incast_options *options, incast_host **host, incast_error *error);

// Writes the address of a host, with its port and a zero behind it, into `room` bytes at `text`.
int32_t incast_address(const incast_host *host, char *text, size_t room, incast_error *error);

// Connects to a host at an address such as `10.0.0.2:7000`. `key` is its public key where key
// pairs protect connections, else NULL.
int32_t incast_connect(const incast_host *host,
                       const char *address,
                       const char *key,
                       double timeout_s,
                       incast_peer **peer,
                       incast_error *error);

// Closes a host with its connections, and frees it. What is under way fails.
void incast_close(incast_host *host);

// Ends the connection to a peer, and frees it. What is under way fails.
void incast_peer_free(incast_peer *peer);

// Calls a peer, and waits for the reply, but no longer than `timeout_s`.
int32_t incast_call(const incast_peer *peer,
                    const uint8_t *data,
                    size_t bytes,
                    double timeout_s,
                    incast_bytes *reply,
                    incast_error *error);

// Sends a message that wants no reply, and waits until the peer has it, but no longer than
// `timeout_s`, after which no more of it leaves: the error's message says whether the peer may
// still get it. With a time of 0 it does not wait, and errors of the way are not told.
int32_t incast_note(const incast_peer *peer,
                    const uint8_t *data,
                    size_t bytes,
                    double timeout_s,
                    incast_error *error);

// Frees the bytes that a function has brought. There are none afterwards.
void incast_bytes_free(incast_bytes *bytes);

// Waits for the next message of any peer, but no longer than `timeout_s`: `INCAST_TIMED_OUT`
// says that there is none.
int32_t incast_accept(const incast_host *host,
                      double timeout_s,
                      incast_request **request,
                      incast_error *error);

// The body of a request, which is freed with it. It is NULL if it is empty, or the request is.
const uint8_t *incast_request_body(const incast_request *request, size_t *bytes);

// Whether a request is a call, which wants a reply.
bool incast_wants_reply(const incast_request *request);

// The time for which the sender of a request waits, in seconds from when it was sent: for the
// reply to a call, or for the news that a note was delivered. INFINITY if it is not bounded, or
// the request is NULL.
double incast_request_timeout(const incast_request *request);

// Replies to a call. After success the request is freed; after an error, as where it is no call,
// it is not.
int32_t incast_reply(incast_request *request,
                     const uint8_t *data,
                     size_t bytes,
                     incast_error *error);

// Refuses a call for a reason that the caller reads. After success the request is freed; after an
// error it is not.
int32_t incast_refuse(incast_request *request, const char *reason, incast_error *error);

// Frees a request. A call that was not answered is refused.
void incast_request_free(incast_request *request);

#ifdef __cplusplus
}  // extern "C"
#endif  // __cplusplus

#endif  /* INCAST_H */
