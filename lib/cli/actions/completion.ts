/** `stepwell completion <shell>`, and the requests of the shells for suggestions. The library writes to stdout. */
import type { Command } from 'commander';
import tab from '@bomb.sh/tab/commander';

const name = 'stepwell';
const describe = (program: Command) => tab(program, { completionCommandName: 'completion' });

/** Prints the script that a shell loads. */
export const printScript = (program: Command, shell: string): void => describe(program).setup(name, name, shell);

/** Prints suggestions for an unfinished command line, as the script requests them. */
export const printSuggestions = (program: Command, words: readonly string[]): void => describe(program).parse([...words]);
