/** Wires what messages of the Workflow DevKit need: the World of deployed apps, and the network for registered applications. */
import type { Logger } from '@aws-lambda-powertools/logger';
import { functionClient } from '../../lib/aws/clients.ts';
import { settingsFrom } from '../../lib/aws/environment.ts';
import { WorldFunction } from '../../lib/aws/world-function.ts';
import { once } from '../../lib/base/lazy.ts';
import { HttpAppCalls } from '../../lib/egress/app-calls.ts';
import { networkAccessOf } from '../../lib/egress/private-destinations.ts';
import type { AppCalls } from '../../lib/ports/devkit.ts';
import type { WorldCalls } from '../../lib/ports/world-calls.ts';
import type { Decider } from '../../lib/service/decider.ts';
import { codeWorldOf } from './code-world.ts';

/** The destinations of the installation's setting are read by the first delivery. */
export const devKitRuntimes = (decider: Decider, logger: Logger): { readonly world: WorldCalls; readonly apps: AppCalls } => ({
  world: codeWorldOf(decider, logger, worldFunction()),
  apps: new HttpAppCalls(
    once(() => networkAccessOf(settingsFrom(process.env).privateDestinations)),
    decider.deps.clock,
  ),
});

/** Serves calls of deployed code about other runs; undefined where the process has no function for them. */
function worldFunction(): WorldCalls | undefined {
  const name = settingsFrom(process.env).worldFunction;
  return name === undefined ? undefined : new WorldFunction(functionClient(), name);
}
