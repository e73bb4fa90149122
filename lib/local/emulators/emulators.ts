/** The emulators behind the gateway, and where each keeps what it is told. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startDynalite } from './dynalite.ts';
import { findDynoxide, startDynoxide, type DynamodbEmulator } from './dynoxide.ts';
import { startFauxqs, type Fauxqs } from './fauxqs.ts';

export interface Emulators {
  readonly dynamodb: DynamodbEmulator;
  readonly fauxqs: Fauxqs;
  stop(): Promise<void>;
}

/** `onDeath` is told when DynamoDB's process ends without having been stopped. */
export async function startEmulators(directory: string, onExit: (reason: string) => void): Promise<Emulators> {
  const state = join(directory, 'state');
  mkdirSync(state, { recursive: true });
  const binary = findDynoxide();
  const [dynamodb, fauxqs] = await Promise.all([
    binary === undefined ? startDynalite(state, onExit) : startDynoxide(binary, state, onExit),
    startFauxqs(join(state, 'queues-and-bucket')),
  ]);
  return {
    dynamodb,
    fauxqs,
    async stop() {
      await fauxqs.stop();
      await dynamodb.stop();
    },
  };
}
