#!/bin/bash
# player.py in shell: bash speaks with the server, awk chooses the moves.
level=$1
shift
while [ $# -gt 1 ]; do
    case $1 in
    -h | --host) host=$2 ;;
    -p | --port) port=$2 ;;
    -r | --reservation) reservation=$2 ;;
    esac
    shift 2
done
exec 3<>"/dev/tcp/$host/$port"
printf '<protocol><joinPrepared reservationCode="%s"/>' "$reservation" >&3
while IFS= read -r line <&3; do
    case $line in
    *'<state '*) state=$line ;;
    *'class="result"'*) exit ;;
    *'class="moveRequest"'*)
        move=$(printf %s "$state" | awk -v level="$level" -v seed=$RANDOM$RANDOM -f player.awk)
        printf '<room roomId="%s">%s</room>' "$room" "$move" >&3
        ;;
    *'<room roomId='*)
        room=${line#*roomId=\"}
        room=${room%%\"*}
        ;;
    *) state+=$line ;;
    esac
done
