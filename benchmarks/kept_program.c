/* A program for matches that knows its moves beforehand and stays for several games, as docs/match.md describes.

   Build it with `cc -O2 -o kept_program kept_program.c`, and run it as `kept_program SCRIPT -h HOST -p PORT -r CODE`.
   SCRIPT is the file of bench/scripted_program.py, which does the same in Python. */

#define _GNU_SOURCE
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_MOVES = 512, MOST_BYTES = 1 << 20, ROOM_LENGTH = 36 };

static const char ROOM[] = "00000000-0000-4000-8000-000000000000";
static char first[256], *moves[2][MOST_MOVES], input[MOST_BYTES + 1];

static void read_script(const char *path)
{
    char line[4096];
    int counts[2] = {0, 0};
    FILE *file = fopen(path, "r");
    if (!file || !fgets(first, sizeof first, file))
        exit(1);
    first[strcspn(first, "\n")] = 0;
    while (fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = 0;
        moves[line[0] - '0'][counts[line[0] - '0']++] = strdup(line + 2);
    }
    fclose(file);
}

static int connect_to(const char *host, const char *port)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    int one = 1, sock;
    if (getaddrinfo(host, port, &hints, &found) != 0)
        exit(1);
    sock = socket(found->ai_family, SOCK_STREAM, 0);
    setsockopt(sock, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (connect(sock, found->ai_addr, found->ai_addrlen) != 0)
        exit(1);
    freeaddrinfo(found);
    return sock;
}

static void send_all(int sock, const char *text)
{
    for (size_t left = strlen(text); left;) {
        ssize_t count = send(sock, text, left, 0);
        if (count <= 0)
            exit(1);
        text += count, left -= count;
    }
}

static void play(const char *host, const char *port, const char *code)
{
    char packet[4096], room[ROOM_LENGTH + 1] = "";
    int sock = connect_to(host, port), seat = 0, next = 0;
    size_t size = 0;
    ssize_t count;
    snprintf(packet, sizeof packet, "<protocol><joinPrepared reservationCode=\"%s\"/>", code);
    send_all(sock, packet);
    while ((count = recv(sock, input + size, MOST_BYTES - size, 0)) > 0) {
        size += count;
        input[size] = 0;
        if (!*room && strstr(input, "welcomeMessage") && strstr(input, "</room>")) {
            memcpy(room, strstr(input, "roomId=\"") + 8, ROOM_LENGTH);
            seat = strstr(input, first) ? 0 : 1;
        }
        char *end = input + (size > 1024 ? size - 1024 : 0); /* a request is the last and a short packet */
        if (*room && strstr(end, "</room>") && (strstr(end, "\"moveRequest\"") || strstr(end, "MoveRequest"))) {
            strcpy(packet, moves[seat][next++]);
            for (char *place; (place = strstr(packet, ROOM));)
                memcpy(place, room, ROOM_LENGTH);
            send_all(sock, packet);
            size = 0;
        } else if (strstr(end, "<left")) {
            break;
        } else if (*room && size > 1024) {
            memmove(input, end, 1024);
            size = 1024;
        }
    }
    close(sock);
}

int main(int count, char **words)
{
    char line[256], host[64], port[16], code[128];
    if (count < 8)
        return 2;
    read_script(words[1]);
    play(words[3], words[5], words[7]);
    while (fgets(line, sizeof line, stdin) && sscanf(line, "%63s %15s %127s", host, port, code) == 3)
        play(host, port, code);
    return 0;
}
