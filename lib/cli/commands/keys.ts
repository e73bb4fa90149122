/** `stepwell keys …`. */
import type { Register } from '../command.ts';

export const register: Register = (program, createHandler) => {
  const keys = program.command('keys').description('make, list, rotate and revoke API keys; needs the scope admin');
  keys
    .command('create')
    .description('make a key; it is printed this once')
    .requiredOption('--scopes <scope,scope>', 'what it may do, such as trigger:write,runs:read')
    .option('--expires-at <time>', 'it works until then')
    .option('--expires-in-days <n>', 'it works for so long')
    .option('--rate <n>', 'requests a minute, or none for no limit')
    .action(createHandler(async () => (await import('../keys/create-key.ts')).createKey));
  keys
    .command('bootstrap')
    .description('read the first admin key of an installation with your AWS credentials')
    .option('--region <region>', 'where it is; that of your AWS configuration unless it says otherwise')
    .option('--secret-arn <arn>', 'the secret, an output of the runtime stack')
    .option('--stack <name>', 'or the stack that has it; Stepwell-Data unless it says otherwise')
    .option('--save <profile>', 'keep it in a file that only you can read, for this profile, and do not print it')
    .action(createHandler(async () => (await import('../keys/bootstrap-key.ts')).bootstrapKey));
  keys
    .command('list')
    .description('list keys, newest first; never their secrets')
    .option('--limit <n>', 'this many at most', '25')
    .option('--all', 'all of them')
    .action(createHandler(async () => (await import('../keys/list-keys.ts')).listKeys));
  keys
    .command('revoke <keyId>')
    .description('end a key for good; within 30 seconds it works nowhere')
    .action(createHandler(async () => (await import('../keys/revoke-key.ts')).revokeKey));
  keys
    .command('rotate <keyId>')
    .description('make a key with the terms of another, which works on for a while; it is printed this once')
    .option('--overlap-seconds <n>', 'the old key works on for so long; a day unless it says otherwise')
    .action(createHandler(async () => (await import('../keys/rotate-key.ts')).rotateKey));
};
