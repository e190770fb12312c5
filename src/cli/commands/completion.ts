/** `podwright completion SHELL`: a script that completes commands, flags and their values, made from the commands. */
import { Argument, type Command } from 'commander';
import type { Terminal } from '../terminal.ts';

const shells = ['bash', 'zsh', 'fish'] as const;
type Shell = (typeof shells)[number];

export function addCompletionCommand(program: Command, terminal: Terminal): void {
  program
    .command('completion')
    .addArgument(new Argument('<shell>', 'the shell to complete in').choices(shells))
    .description('Print a script that completes commands and flags.')
    .addHelpText('after', completionHelp)
    .action((shell: Shell) => terminal.out(scripts[shell](program)));
}

const completionHelp = `
Examples:
  source <(podwright completion bash)
  podwright completion zsh > "\${fpath[1]}/_podwright"
  podwright completion fish > ~/.config/fish/completions/podwright.fish
`;

interface Described {
  readonly name: string;
  readonly description: string;
  readonly flags: readonly {
    readonly long: string;
    readonly description: string;
    readonly choices: readonly string[];
  }[];
  readonly children: readonly string[];
}

function describeAll(program: Command): readonly Described[] {
  return program.commands.map((command) => ({
    name: command.name(),
    description: firstSentence(command.description()),
    flags: command.options.flatMap(({ long, description, argChoices = [] }) =>
      long == null ? [] : [{ long, description: firstSentence(description), choices: argChoices }],
    ),
    children: command.commands.map((child) => child.name()),
  }));
}

function firstSentence(text: string): string {
  return text.replace(/[.;:(].*$/s, '').trim();
}

const scripts: Readonly<Record<Shell, (program: Command) => string>> = {
  bash: (program) => {
    const commands = describeAll(program);
    const cases = commands.map(({ name, flags, children }) => {
      const words = [...children, ...flags.map((flag) => flag.long), '--help'].join(' ');
      return `    ${name}) words='${words}' ;;`;
    });
    const values = choices(commands).map(
      ([long, texts]) => `    ${long}) COMPREPLY=($(compgen -W '${texts.join(' ')}' -- "$current")); return ;;`,
    );
    return `# bash completion of podwright
_podwright() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}" words
  case "$previous" in
${values.join('\n')}
  esac
  if [ "$COMP_CWORD" -eq 1 ]; then
    COMPREPLY=($(compgen -W '${commands.map(({ name }) => name).join(' ')} --help --version' -- "$current"))
    return
  fi
  case "\${COMP_WORDS[1]}" in
${cases.join('\n')}
    *) words='' ;;
  esac
  if [[ "$current" == -* || -n "$(compgen -W "$words" -- "$current")" && -z "$current" ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    COMPREPLY=($(compgen -W "$words" -- "$current") $(compgen -f -- "$current"))
  fi
}
complete -o filenames -F _podwright podwright
`;
  },
  zsh: (program) => {
    const commands = describeAll(program);
    const cases = commands.map(({ name, flags, children }) => {
      const specs = flags.map(({ long, description, choices: texts }) => {
        const value = texts.length === 0 ? '' : `:value:(${texts.join(' ')})`;
        return `        '${long}[${zshText(description)}]${value}'`;
      });
      const first = children.length === 0 ? `'*:file:_files'` : `'1:command:(${children.join(' ')})'`;
      return `      ${name})\n        _arguments \\\n${[...specs, `        ${first}`].join(' \\\n')}\n        ;;`;
    });
    return `#compdef podwright
_podwright() {
  local -a commands
  commands=(
${commands.map(({ name, description }) => `    '${name}:${zshText(description)}'`).join('\n')}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  local command="\${words[2]}"
  shift words
  (( CURRENT-- ))
  case "$command" in
${cases.join('\n')}
  esac
}
compdef _podwright podwright
`;
  },
  fish: (program) => {
    const commands = describeAll(program);
    const lines = ['# fish completion of podwright', 'complete -c podwright -n __fish_use_subcommand -f'];
    for (const { name, description, flags, children } of commands) {
      lines.push(`complete -c podwright -n __fish_use_subcommand -a ${name} -d '${fishText(description)}'`);
      const within = `-n '__fish_seen_subcommand_from ${name}'`;
      for (const child of children) lines.push(`complete -c podwright ${within} -f -a ${child}`);
      for (const { long, description: text, choices: texts } of flags) {
        const values = texts.length === 0 ? '' : ` -x -a '${texts.join(' ')}'`;
        lines.push(`complete -c podwright ${within} -l ${long.slice(2)}${values} -d '${fishText(text)}'`);
      }
    }
    return `${lines.join('\n')}\n`;
  },
};

/** Flags with a fixed set of values. */
function choices(commands: readonly Described[]): readonly (readonly [string, readonly string[]])[] {
  const all = commands.flatMap(({ flags }) => flags).filter((flag) => flag.choices.length > 0);
  const byFlag = new Map<string, Set<string>>();
  for (const flag of all) byFlag.set(flag.long, new Set([...(byFlag.get(flag.long) ?? []), ...flag.choices]));
  return [...byFlag].map(([long, texts]) => [long, [...texts]] as const);
}

function zshText(text: string): string {
  return text.replaceAll("'", "'\\''").replace(/[[\]:]/g, '\\$&');
}

function fishText(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll("'", "\\'");
}
