/** The World's host in an application: it registers the application's address, and checks that deliveries are from the service. */
import { defined } from '../base/defined.ts';
import { parseAnswer, type Registration } from './answers.ts';
import { refusalOf, type SignedDelivery } from './delivery.ts';
import { type Environment, appUrlOf, readVariable } from './settings.ts';
import type { Ask } from './storage.ts';
import type { WorldHost } from './world.ts';

export interface AppHostOptions {
  readonly environment: () => Environment;
  readonly specVersion: () => number;
  /** milliseconds since the epoch */
  readonly now: () => number;
}

/** @param ask used for a delivery that arrives before `start`, as in the second process of an application */
export function appHost(ask: Ask, { environment, specVersion, now }: AppHostOptions): WorldHost {
  let registration: Promise<Registration> | undefined;
  const register = (baseUrl: string): Promise<Registration> => {
    registration ??= registerApp(ask, baseUrl, specVersion(), readVariable(environment(), 'queueNamespace')).catch(
      (error: unknown) => {
        registration = undefined;
        throw error;
      },
    );
    return registration;
  };
  const secret = async (): Promise<string | undefined> => {
    const baseUrl = appUrlOf(environment());
    return baseUrl === undefined ? undefined : (await register(baseUrl)).secret;
  };
  return {
    capabilities: { hookResumeDedup: true },
    // A server may take its first request while it still registers: its runs are for its own address.
    deploymentId: async () => (await registration)?.deploymentId,
    queueNamespace: () => readVariable(environment(), 'queueNamespace'),
    runtimeDeadline: () => undefined,
    checkDelivery: async (delivery: SignedDelivery) => {
      const key = await secret();
      if (key === undefined) return 'this process takes no messages: it has registered no address';
      return refusalOf(delivery, key, Math.floor(now() / 1_000));
    },
    start: async () => {
      const baseUrl = appUrlOf(environment());
      if (baseUrl !== undefined) await register(baseUrl);
    },
  };
}

async function registerApp(
  ask: Ask,
  baseUrl: string,
  specVersion: number,
  queueNamespace: string | undefined,
): Promise<Registration> {
  return parseAnswer.registration(await ask('apps.register', { ...defined({ baseUrl, specVersion, queueNamespace }) }));
}
