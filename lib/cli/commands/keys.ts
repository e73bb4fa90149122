/** Declares `stepwell keys …` and `stepwell profiles …`. */
import type { Register } from '../command.ts';

export const registerKeys: Register = (program, createHandler) => {
  const keys = program.command('keys').description('create, list, rotate and revoke API keys; requires the scope admin');
  keys
    .command('create')
    .description('create a key; it is printed only once')
    .requiredOption('--scopes <scope,scope>', 'the scopes of the key, such as trigger:write,runs:read,payloads:read')
    .option('--expires-at <time>', 'the key expires at this time')
    .option('--expires-in-days <n>', 'the key expires after this many days')
    .option('--rate <n>', 'requests per minute, or none for no limit')
    .action(createHandler(async () => (await import('../actions/keys.ts')).createKey));
  keys
    .command('bootstrap')
    .description('read the first admin key of an installation with your AWS credentials')
    .option('--region <region>', 'AWS region; default: the region of your AWS configuration')
    .option('--secret-arn <arn>', 'ARN of the secret, an output of the runtime stack')
    .option('--stack <name>', 'find the secret by its stack instead; default: Stepwell-Data')
    .option('--save <profile>', 'save the key in a private file for this profile, and do not print it')
    .action(createHandler(async () => (await import('../actions/bootstrap-key.ts')).bootstrapKey));
  keys
    .command('list')
    .description('list keys without their secrets, newest first')
    .option('--limit <n>', 'maximum number of rows', '25')
    .option('--all', 'list all rows')
    .action(createHandler(async () => (await import('../actions/keys.ts')).listKeys));
  keys
    .command('revoke <keyId>')
    .description('revoke a key permanently; it takes effect within 30 seconds')
    .action(createHandler(async () => (await import('../actions/keys.ts')).revokeKey));
  keys
    .command('rotate <keyId>')
    .description('replace a key with a new one; the old key works for an overlap, the new key is printed only once')
    .option('--overlap-seconds <n>', 'the old key works this long; default: one day')
    .action(createHandler(async () => (await import('../actions/keys.ts')).rotateKey));
};

export const registerProfiles: Register = (program, createHandler) => {
  const profiles = program.command('profiles').description('name installations and where the key of each is stored');
  profiles
    .command('list')
    .description('list profiles')
    .action(createHandler(async () => (await import('../actions/profiles.ts')).listProfiles));
  profiles
    .command('add <name>')
    .description('add or replace a profile; requires --url')
    .option('--start-url <url>', 'the URL of its start API: the output StartApiUrl')
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
