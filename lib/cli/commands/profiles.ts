/** Declares `stepwell profiles …`. */
import type { Register } from '../command.ts';

export const registerProfiles: Register = (program, createHandler) => {
  const profiles = program.command('profiles').description('name installations and where the key of each is stored');
  profiles
    .command('list')
    .description('list profiles')
    .action(createHandler(async () => (await import('../actions/profiles.ts')).listProfiles));
  profiles
    .command('add <name>')
    .description('add or replace a profile; requires --url')
    .option('--api-key-env <variable>', 'the environment variable that contains the key')
    .option('--api-key-file <file>', 'a file that contains only the key')
    .option('--worker-settings <file>', 'a file with the tables and queues for worker start')
    .action(createHandler(async () => (await import('../actions/profiles.ts')).addProfile));
  profiles
    .command('remove <name>')
    .description('remove a profile')
    .action(createHandler(async () => (await import('../actions/profiles.ts')).removeProfile));
  profiles
    .command('use <name>')
    .description('make this profile the current one')
    .action(createHandler(async () => (await import('../actions/profiles.ts')).useProfile));
};
