/** Starts the emulators behind the gateway, each with its state in the state folder. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { deployQueuesAndBuckets, deployTables } from '../deploy/tables.ts';
import type { Template } from '../template/template.ts';
import { startDynalite } from './dynalite.ts';
import { findDynoxide, startDynoxide, type DynamodbEmulator } from './dynoxide.ts';
import { createDynamodbCaller } from './forward.ts';
import { startFauxqs, type Fauxqs } from './fauxqs.ts';

export interface Emulators {
  readonly dynamodb: DynamodbEmulator;
  readonly fauxqs: Fauxqs;
  stop(): Promise<void>;
}

/** `onExit` is called when DynamoDB's process exits without having been stopped. */
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

/** Creates the template's tables, queues and buckets. */
export async function deployData(template: Template, { dynamodb, fauxqs }: Emulators): Promise<void> {
  await deployTables(template, createDynamodbCaller(dynamodb.forward));
  deployQueuesAndBuckets(template, fauxqs);
  fauxqs.releaseInFlight();
}
