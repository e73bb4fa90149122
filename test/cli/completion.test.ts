/** The script of `stepwell completion` completes commands in a real shell. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const program = join(import.meta.dirname, '../../bin/stepwell-cli.mjs');

/** What bash suggests after the words. The script calls the command again for its suggestions. */
async function suggestions(...words: readonly string[]): Promise<readonly string[]> {
  const script = `
stepwell() { '${process.execPath}' '${program}' "$@"; }
source <(stepwell completion bash)
typed=(stepwell "$@")
# Of the package bash-completion.
_get_comp_words_by_ref() { words=("\${typed[@]}"); cword=$((\${#words[@]} - 1)); cur="\${words[cword]}"; }
compopt() { :; }
function=$(complete -p stepwell | sed -E 's/.*-F ([^ ]+) .*/\\1/')
"$function"
printf '%s\\n' "\${COMPREPLY[@]}"
`;
  const { stdout } = await promisify(execFile)('bash', ['-c', script, 'bash', ...words]);
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.trim());
}

test('bash completes commands, subcommands and options', async () => {
  expect(await suggestions('sch')).toEqual(['schedules']);
  expect(await suggestions('runs', 'wa')).toEqual(expect.arrayContaining(['watch', 'wake']));
  expect(await suggestions('runs', 'watch', '--a')).toEqual(['--after']);
});
