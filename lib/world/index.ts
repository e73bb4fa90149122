/** The public entry of `stepwell/world`: the World that the Workflow DevKit loads by `WORKFLOW_TARGET_WORLD=stepwell/world`. */
import { appHost } from './app-host.ts';
import { valueOf } from './errors.ts';
import { HttpTransport } from './http-transport.ts';
import { connectionOf } from './settings.ts';
import { findSpecVersion } from './spec-version.ts';
import type { World } from './types.ts';
import { buildWorld } from './world.ts';

export type { World } from './types.ts';

/** A World of this application. It reads the environment and connects at its first call, because builds create one too. */
export function createWorld(): World {
  const environment = (): NodeJS.ProcessEnv => process.env;
  const transport = new HttpTransport(() => connectionOf(environment()));
  const specVersion = (): number => findSpecVersion(process.cwd(), environment());
  const host = appHost(async (method, body) => valueOf(await transport.call(method, body), method, body), {
    environment,
    specVersion,
    now: Date.now,
  });
  return buildWorld({ transport, host, specVersion });
}
