/** `stepwell profiles …`. */
import type { Register } from '../command.ts';

export const register: Register = (program, createHandler) => {
  const profiles = program.command('profiles').description('name installations, and say where the key of each is');
  profiles
    .command('list')
    .description('list profiles')
    .action(createHandler(async () => (await import('../profiles/profiles.ts')).listProfiles));
  profiles
    .command('add <name>')
    .description('add a profile, or change one; --url says where it is')
    .option('--api-key-env <variable>', 'the environment variable that holds the key')
    .option('--api-key-file <file>', 'the file that holds the key and nothing else')
    .option('--worker-settings <file>', 'the file with which worker start finds its tables and queues')
    .action(createHandler(async () => (await import('../profiles/profiles.ts')).addProfile));
  profiles
    .command('remove <name>')
    .description('forget a profile')
    .action(createHandler(async () => (await import('../profiles/profiles.ts')).removeProfile));
  profiles
    .command('use <name>')
    .description('use this profile where nothing else is said')
    .action(createHandler(async () => (await import('../profiles/profiles.ts')).useProfile));
};
