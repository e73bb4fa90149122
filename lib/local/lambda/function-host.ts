/** The functions of the cloud with their logs and temporary folders, and the pollers that invoke them for queues. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { defined } from '../../base/defined.ts';
import type { FindFunction } from '../aws/lambda.ts';
import { lastPart } from '../aws-environment.ts';
import { deployCustomResources } from '../deploy/custom-resources.ts';
import { type MappingParts, startMappings } from '../pollers/mapping.ts';
import type { Routes } from '../http/routes.ts';
import { startIdleCollection } from '../idle-collection.ts';
import type { LambdaFunction } from './function.ts';
import { createFunctions, type FunctionParts, openLogs } from './functions.ts';

/** How long running invocations may take to end, in milliseconds. Then their threads are ended, and SQS redelivers their messages. */
const graceMs = 10_000;

export interface FunctionHost {
  /** by name */
  readonly functions: ReadonlyMap<string, LambdaFunction>;
  readonly find: FindFunction;
  /** Handles the custom resources of the template. */
  deploy(): Promise<void>;
  /** Starts the pollers of the event source mappings. */
  startPolling(parts: Pick<MappingParts, 'fauxqs' | 'throttledVisibilityMs' | 'callDelay'>): void;
  /** Receives no more messages, and waits for the running batches, for at most the grace period. */
  stopPolling(): Promise<void>;
}

type HostParts = Omit<FunctionParts, 'logs' | 'cache' | 'ephemeral' | 'streaming' | 'accountConcurrency'> & {
  readonly accountConcurrency?: number;
  /** undefined where the template has no REST API */
  readonly routes: Routes | undefined;
  readonly directory: string;
  /** registers what ends the functions and closes their logs */
  readonly onStop: (cleanup: () => Promise<void>) => void;
};

export async function startFunctionHost({
  directory,
  routes,
  onStop,
  accountConcurrency,
  ...parts
}: HostParts): Promise<FunctionHost> {
  const logs = openLogs(join(directory, 'logs'));
  onStop(() => logs.close());
  // Temporary folders that a killed cloud left behind.
  const ephemeral = join(directory, 'ephemeral');
  await rm(ephemeral, { recursive: true, force: true });
  const functions = createFunctions(
    defined({
      ...parts,
      logs,
      cache: join(directory, 'cache'),
      ephemeral,
      accountConcurrency,
      streaming: routes?.streamingFunctions,
    }),
  );
  // Waits for running invocations, for at most the grace period, and ends all threads.
  onStop(async () => void (await Promise.all([...functions.values()].map((one) => one.stop(graceMs)))));
  // The work of this thread follows from invocations.
  const collection = startIdleCollection();
  onStop(async () => collection.stop());
  parts.recorder.listen(({ service }) => void (service === 'lambda' && collection.onWork()));
  const find = (nameOrArn: string): LambdaFunction | undefined => functions.get(lastPart(nameOrArn));
  // Loading a module takes longest, so the functions of the API load while the emulators start. Their callers are people who wait.
  for (const arn of routes?.bufferedFunctions ?? []) find(arn)?.keepLoaded();
  let pollers: ReturnType<typeof startMappings> = [];
  return {
    functions,
    find,
    deploy: () => deployCustomResources({ template: parts.template, directory, find }),
    startPolling(mappingParts) {
      pollers = startMappings({ ...parts, ...mappingParts, find });
    },
    async stopPolling() {
      const stopped = Promise.all(pollers.map((poller) => poller.stop()));
      await Promise.race([stopped, wait(graceMs, undefined, { ref: false })]);
    },
  };
}
