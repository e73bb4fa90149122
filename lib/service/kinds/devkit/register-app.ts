/** Registers the address of an application that receives the messages of its runs itself. It stands in the place of a deployment. */
import { createHash, randomBytes } from 'node:crypto';
import { defined } from '../../../base/defined.ts';
import { type DeploymentId, type Scope, deploymentId } from '../../../engine/ids.ts';
import { maxSpecVersion } from '../../../engine/devkit/events.ts';
import { after, days } from '../../../engine/time.ts';
import type { RegisteredApp } from '../../../ports/devkit.ts';
import type { Deps } from '../../deps.ts';
import { type WorldResult, answer, invalid, refused } from './world-error.ts';

export interface AppRegistration {
  readonly baseUrl: string;
  readonly app?: string;
  readonly sdk?: string;
  readonly specVersion?: number;
  readonly queueNamespace?: string;
}

/** Why messages to an address would be refused, so that the application learns it when it starts; undefined: they are sent. */
export type RefuseAppAddress = (address: URL) => Promise<string | undefined>;

/** Deployments that a client names can begin with it too. */
const appPrefix = 'dpl_app_';

/** The application that is registered under the id of a deployment. Other ids than those of applications are not looked up. */
export const registeredApp = async (
  { registeredApps }: Pick<Deps, 'registeredApps'>,
  scope: Scope,
  id: DeploymentId,
): Promise<RegisteredApp | undefined> => (id.startsWith(appPrefix) ? registeredApps.app(scope, id) : undefined);

/** Longer than the longest run: each start of the application registers it again. */
const registrationLifetime = days(400);

/** @param refuseAddress undefined: every address is registered. Each delivery checks the address in any case. */
export async function registerApp(
  { registeredApps, clock }: Pick<Deps, 'registeredApps' | 'clock'>,
  scope: Scope,
  { baseUrl, app, sdk, specVersion, queueNamespace }: AppRegistration,
  refuseAddress?: RefuseAppAddress,
): Promise<WorldResult<{ readonly deploymentId: DeploymentId; readonly secret: string }>> {
  const url = URL.parse(baseUrl);
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:') || url.username !== '' || url.password !== '')
    return invalid('/baseUrl', 'it is not an http or https address without a user and a password');
  const refusal = await refuseAddress?.(url);
  if (refusal !== undefined) return invalid('/baseUrl', `messages cannot be sent to ${url.origin}: ${refusal}`);
  if (specVersion !== undefined && specVersion > maxSpecVersion)
    return refused(
      'run_not_supported',
      `the application starts runs of spec version ${specVersion}, and this version of Stepwell stores runs up to spec version ${maxSpecVersion}`,
    );
  const now = clock.now();
  const address = `${url.origin}${url.pathname}`.replace(/\/+$/, '');
  const registered = await registeredApps.register(
    scope,
    defined({
      deploymentId: deploymentIdOf(address, app),
      baseUrl: address,
      secret: randomBytes(secretBytes).toString('base64url'),
      registeredAt: now,
      app,
      sdk,
      specVersion,
      queueNamespace,
    }),
    after(now, registrationLifetime),
  );
  return answer({ deploymentId: registered.deploymentId, secret: registered.secret });
}

const secretBytes = 32;
const idLength = 24;

/** The same for each registration of an address: runs that it started go on after a restart. */
const deploymentIdOf = (address: string, app: string | undefined): DeploymentId =>
  deploymentId(
    `${appPrefix}${createHash('sha256')
      .update(JSON.stringify([address, app ?? null]))
      .digest('hex')
      .slice(0, idLength)}`,
  );
