// The scripts only pass on the words and show what the program returns, so that they are never out of date. The zsh script works
// from a file in $fpath and through `source`. `:files` asks the shell for file names.

const bash = `_dibs() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == :files ]]; then compopt -o default; else COMPREPLY+=("\${line%%$'\\t'*}"); fi
  done < <(dibs __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _dibs dibs
`;

const zsh = `#compdef dibs
_dibs() {
  local line
  local -a candidates
  while IFS= read -r line; do
    if [[ $line == :files ]]; then _files
    elif [[ $line == *$'\\t'* ]]; then candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
    else candidates+=("\${line//:/\\\\:}"); fi
  done < <(dibs __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)
  (( $#candidates )) && _describe dibs candidates
}
if [ "$funcstack[1]" = "_dibs" ]; then _dibs; else compdef _dibs dibs; fi
`;

const fish = `function __dibs_complete
  set -l words (commandline -opc)
  set -e words[1]
  for line in (dibs __complete -- $words (commandline -ct) 2>/dev/null)
    if test "$line" = ":files"
      __fish_complete_path (commandline -ct)
    else
      echo $line
    end
  end
end
complete -c dibs -f -a "(__dibs_complete)"
`;

export const scripts: Record<string, string> = { bash, zsh, fish };
