/** Runs the HTTP bundles of deployments on threads of this process. */
import type { DeploymentId, Scope } from '../engine/ids.ts';
import { type Instant, between } from '../engine/time.ts';
import { type BundleResult, type BundleRequest, type Bundles, bundlePaths } from '../ports/bundles.ts';
import type { Clock } from '../ports/clock.ts';
import type { Manifest } from '../ports/deployments.ts';
import { BundleThread, type PrintedLine } from './bundle-thread.ts';
import type { DeploymentThread, ThreadSlots } from './thread-slots.ts';

export interface BundleHost {
  readonly threadSlots: ThreadSlots;
  readonly clock: Clock;
  /** heap limit of one thread, in MiB */
  readonly memoryMb: number;
  readonly print: (line: PrintedLine) => void;
  /** Environment variables for the authors' code, read when a thread starts. Default: none. @throws Unavailable */
  readonly variables?: () => Promise<Readonly<Record<string, string>>>;
  /** AWS credentials as variables, read before each request or workflow task. Default: none. @throws Unavailable */
  readonly readCredentialVariables?: (deploymentId: DeploymentId) => Promise<Readonly<Record<string, string>>>;
}

/** Queue names with and without a namespace: `__wkf_workflow_<name>`, `__<namespace>_wkf_workflow_<name>`. */
const queueName = /^__(?:[a-z][a-z0-9]*_)?wkf_(?<bundle>workflow|step)_./;

const bundleOf = (queue: string): string | undefined => {
  const bundle = queueName.exec(queue)?.groups?.['bundle'];
  return bundle === 'workflow' || bundle === 'step' ? bundlePaths[bundle] : undefined;
};

const isBundleThread = (thread: DeploymentThread): thread is BundleThread => thread instanceof BundleThread;

export class LocalBundles implements Bundles {
  readonly #host: BundleHost;

  constructor(host: BundleHost) {
    this.#host = host;
  }

  /** @throws Unavailable when the artifact store cannot be read now */
  async deliver(
    scope: Scope,
    manifest: Manifest,
    request: BundleRequest,
    limits: { readonly endsAt: Instant; readonly signal: AbortSignal },
  ): Promise<BundleResult> {
    const bundle = bundleOf(request.queueName);
    if (bundle === undefined)
      return { kind: 'unloadable', message: `no bundle handles messages of the queue ${request.queueName}` };
    if (!manifest.files.some(({ path }) => path === bundle)) {
      return { kind: 'unloadable', message: `the artifact has no ${bundle}` };
    }
    const { threadSlots, clock, memoryMb, print, variables: readVariables, readCredentialVariables } = this.#host;
    const { deploymentId } = manifest;
    const credentialVariables = (await readCredentialVariables?.(deploymentId)) ?? {};
    const variables = { ...(await readVariables?.()), ...credentialVariables };
    const start = (folder: string): BundleThread => new BundleThread({ deploymentId, folder, memoryMb, print, variables });
    return threadSlots.use(scope, manifest, { start, isInstance: isBundleThread }, async (thread): Promise<BundleResult> => {
      const timeoutMs = between(clock.now(), limits.endsAt);
      const { importTimeoutMs } = threadSlots.limits;
      const answer = await thread.deliver({
        bundle,
        request,
        credentialVariables,
        timeoutMs,
        importTimeoutMs,
        signal: limits.signal,
      });
      // Node caches a failed import, so the thread cannot load the module again.
      if (answer.kind === 'unloadable' && thread.isIdle) await thread.end();
      return answer;
    });
  }
}
