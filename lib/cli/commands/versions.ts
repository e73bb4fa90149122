/** What `stepwell workflows`, `stepwell lenses` and `stepwell queries` have in common. */
import type { Command } from 'commander';

export const addListOptions = (command: Command): Command =>
  command
    .option('--archived', 'the archived ones too')
    .option('--limit <n>', 'this many at most', '25')
    .option('--all', 'all of them');

export const addVersionOption = (command: Command): Command =>
  command.option('--version-number <n>', 'not the latest version, but this');
