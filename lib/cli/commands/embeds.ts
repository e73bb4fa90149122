/** Declares `stepwell embeds …`. */
import type { Register } from '../command.ts';

export const registerEmbeds: Register = (program, createHandler) => {
  const embeds = program.command('embeds').description('show the status of a run or workflow in pages of other sites');
  embeds
    .command('create')
    .description('create an embed; its address is printed only once')
    .option('--run <runId>', 'show this run')
    .option('--workflow <name>', 'show the newest run of this workflow')
    .requiredOption('--origin <origin...>', 'a page of this origin may show it, such as https://intranet.example.com')
    .option('--expires-in-days <n>', 'it expires after this many days; default: 30')
    .action(createHandler(async () => (await import('../actions/embeds.ts')).createEmbed));
  embeds
    .command('list')
    .description('list the embeds that have not expired, oldest first')
    .action(createHandler(async () => (await import('../actions/embeds.ts')).listEmbeds));
  embeds
    .command('revoke <embedId>')
    .description('revoke an embed: its page shows nothing from then on')
    .action(createHandler(async () => (await import('../actions/embeds.ts')).revokeEmbed));
};
