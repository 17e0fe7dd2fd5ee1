#!/usr/bin/env bash
# A shell agent as the document on task ids and directories describes it, and no more: it knows nothing of Dibs. It claims by mv with
# its process id in the name, looks for the dead when it starts, has a session lock, and splits some of its work into more tasks.
#
#   AI_ROOT=… AGENT_TYPE=… NAME=… worker.sh     ends when $AI_ROOT/stop exists
#
# Two functions differ from the document as printed, which loses ids when many take them at once: see docs/guides/spool.md.

AI_ROOT=${AI_ROOT:?} AGENT_TYPE=${AGENT_TYPE:?} NAME=${NAME:?}
TASKS="$AI_ROOT/ai_comms/$AGENT_TYPE/tasks"
LOCK_DIR="$HOME/.claude/locks"

increment_hybrid_base36() {
    local current="$1" letters digits
    letters="${current%%[0-9]*}"
    digits="${current#"$letters"}"
    local width=$((4 - ${#letters}))
    if [[ -n "$digits" && $((10#$digits)) -lt $((10 ** width - 1)) ]]; then
        printf '%s%0*d\n' "$letters" "$width" $((10#$digits + 1))
        return
    fi
    # The digits are used up: the next word of letters, or one letter more.
    local index=$((${#letters} - 1)) next="$letters"
    while ((index >= 0)) && [[ "${next:index:1}" == Z ]]; do
        next="${next:0:index}A${next:index+1}"
        index=$((index - 1))
    done
    if ((index >= 0)); then
        local letter
        letter=$(printf '%b' "\\$(printf '%03o' $(($(printf '%d' "'${next:index:1}") + 1)))")
        next="${next:0:index}$letter${next:index+1}"
    else
        next="${next}A"
        width=$((width - 1))
    fi
    if ((width > 0)); then printf '%s%0*d\n' "$next" "$width" 0; else printf '%s\n' "$next"; fi
}

# Only the one who needs it first makes a counter: complete at once, and never over another.
init_counter() {
    local counter_file="$AI_ROOT/ai_comms/counters/$1.NextId" first="$2"
    echo "$first" > "$counter_file.new.$$"
    ln "$counter_file.new.$$" "$counter_file" 2>/dev/null
    rm -f "$counter_file.new.$$"
}

claim_next_id() {
    local prefix="${1:-global}"
    local counter_file="$AI_ROOT/ai_comms/counters/${prefix}.NextId"
    # Not $$: in $(claim_next_id) this is another process, which may outlive the script.
    local claim_file="${counter_file}.claimed.$BASHPID"
    while ! mv "$counter_file" "$claim_file" 2>/dev/null; do sleep 0.05; done
    local current
    current=$(cat "$claim_file")
    if [[ "$prefix" == global ]]; then increment_hybrid_base36 "$current"; else echo $((current + 1)); fi > "$claim_file.next"
    mv "$claim_file.next" "$counter_file"
    rm -f "$claim_file"
    if [[ "$prefix" == global ]]; then echo "$current"
    elif [[ "$prefix" == *_t* ]]; then echo "$prefix.$current"
    else echo "${prefix}_t$current"; fi
}

detect_stale_tasks() {
    local in_progress="$AI_ROOT/ai_comms/$AGENT_TYPE/tasks/in_progress"
    for task_dir in "$in_progress"/*; do
        [[ -d "$task_dir" ]] || continue
        local task_file
        task_file=$(find "$task_dir" -name "*.[0-9]*.md" 2>/dev/null | head -1)
        if [[ -n "$task_file" ]]; then
            local pid
            pid=$(basename "$task_file" | grep -oE '\.[0-9]+\.' | tr -d '.')
            if ! kill -0 "$pid" 2>/dev/null; then
                echo "STALE: $task_dir (PID $pid dead)"
                mv "$task_dir" "$AI_ROOT/ai_comms/$AGENT_TYPE/tasks/stale/" 2>/dev/null
            fi
        fi
    done
}

check_session_lock() {
    local lock_file="$LOCK_DIR/$1.lock"
    if [[ -f "$lock_file" ]]; then
        local lock_pid
        lock_pid=$(head -1 "$lock_file" 2>/dev/null || echo "")
        if [[ -n "$lock_pid" ]] && ps -p "$lock_pid" >/dev/null 2>&1; then return 1; fi
        rm -f "$lock_file"
    fi
    return 0
}

acquire_session_lock() {
    mkdir -p "$LOCK_DIR"
    echo -e "$$\n$(date -Iseconds)\n${SESSION_ID:-default}" > "$LOCK_DIR/$1.lock"
}

release_session_lock() { rm -f "$LOCK_DIR/$1.lock"; }

create_task() {
    local id="$1" text="$2"
    mkdir -p "$TASKS/to_execute/$id"
    echo "$text" > "$TASKS/to_execute/$id/$id.md"
    echo "$id" >> "$AI_ROOT/queued"
}

# Some work for a moment, written down so that a test can tell who worked on what, and whether two did at once.
work() {
    local id="$1" prompt mine
    mine="$TASKS/in_progress/$id/$id.$$.md"
    prompt=$(cat "$mine" 2>/dev/null) || return
    if [[ -e "$AI_ROOT/at-work/$id" ]] && other=$(cat "$AI_ROOT/at-work/$id") && [[ "$other" != "$$" ]] && kill -0 "$other" 2>/dev/null; then
        echo "$id $$ $other" >> "$AI_ROOT/overlaps"
    fi
    echo $$ > "$AI_ROOT/at-work/$id"
    case "$prompt" in
        *split*)
            init_counter "$id" 1
            create_task "$(claim_next_id "$id")" "a part of $id" ;;
        *more*) create_task "$(claim_next_id)" "after $id" ;;
    esac
    sleep "0.0$((RANDOM % 8 + 1))"
    rm -f "$AI_ROOT/at-work/$id"
    mkdir -p "$TASKS/completed/$id"
    echo "done by $NAME" > "$TASKS/completed/$id/result.md"
    if mv "$mine" "$TASKS/completed/$id/$id.$$.md" 2>/dev/null; then echo "$id" >> "$AI_ROOT/done"; fi
}

check_session_lock "$NAME" || { echo "ERROR: Session busy" >&2; exit 1; }
acquire_session_lock "$NAME"
trap 'release_session_lock "$NAME"' EXIT
detect_stale_tasks
mkdir -p "$AI_ROOT/at-work"

while [[ ! -e "$AI_ROOT/stop" ]]; do
    found=
    # Highest sequence first.
    for id in $(ls -r "$TASKS/to_execute" 2>/dev/null); do
        [[ -f "$TASKS/to_execute/$id/$id.md" ]] || continue
        mkdir -p "$TASKS/in_progress/$id"
        mv "$TASKS/to_execute/$id/$id.md" "$TASKS/in_progress/$id/$id.$$.md" 2>/dev/null || continue
        found=1
        work "$id"
        break
    done
    [[ -n "$found" ]] || sleep 0.05
done
