/** Runs the HTTP bundles of deployments on threads of this process. */
import { defined } from '../base/defined.ts';
import type { DeploymentId, Scope } from '../engine/ids.ts';
import { type Instant, between } from '../engine/time.ts';
import {
  type BundleRequest,
  type BundleResult,
  type Bundles,
  type WebhookRequest,
  type WebhookResult,
  bundlePaths,
  devKitBundlePaths,
  devKitHostPath,
} from '../ports/bundles.ts';
import type { Clock } from '../ports/clock.ts';
import type { Manifest } from '../ports/deployments.ts';
import type { WorldCalls } from '../ports/world-calls.ts';
import { type BundleCall, BundleThread, type PrintedLine, type ThreadSettings } from './bundle-thread.ts';
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
  /** serves apps of the Workflow DevKit; default: none can be loaded */
  readonly world?: WorldCalls;
  /** of the HTTP API, without a slash at the end; default: webhooks of apps have an address of the SDK's choice */
  readonly apiAddress?: string;
}

/** Queue names with and without a namespace: `__wkf_workflow_<name>`, `__<namespace>_wkf_workflow_<name>`. */
const queueName = /^__(?:[a-z][a-z0-9]*_)?wkf_(?<bundle>workflow|step)_./;

const bundleOf = (queue: string, { devkit }: Manifest): string | undefined => {
  const bundle = queueName.exec(queue)?.groups?.['bundle'];
  const paths: { readonly workflow: string; readonly step?: string } =
    devkit === undefined ? bundlePaths : devKitBundlePaths[devkit.format];
  return bundle === 'workflow' || bundle === 'step' ? paths[bundle] : undefined;
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
    const bundle = bundleOf(request.queueName, manifest);
    if (bundle === undefined)
      return { kind: 'unloadable', message: `no bundle handles messages of the queue ${request.queueName}` };
    if (!manifest.files.some(({ path }) => path === bundle)) {
      return { kind: 'unloadable', message: `the artifact has no ${bundle}` };
    }
    return this.#onThread<BundleResult>(scope, manifest, bundle, limits, (thread, terms) =>
      thread.deliver({ ...terms, request }),
    );
  }

  /** @throws Unavailable when the artifact store cannot be read now */
  async resumeWebhook(
    scope: Scope,
    manifest: Manifest,
    webhook: { readonly token: string; readonly request: WebhookRequest },
    limits: { readonly endsAt: Instant; readonly signal: AbortSignal },
  ): Promise<WebhookResult> {
    if (!manifest.files.some(({ path }) => path === devKitHostPath))
      return { kind: 'unloadable', message: `the artifact has no ${devKitHostPath}: deploy the app with a newer stepwell-cli` };
    return this.#onThread<WebhookResult>(scope, manifest, devKitHostPath, limits, (thread, terms) =>
      thread.resumeWebhook({ ...terms, ...webhook }),
    );
  }

  async #onThread<Result extends { readonly kind: string }>(
    scope: Scope,
    manifest: Manifest,
    bundle: string,
    { endsAt, signal }: { readonly endsAt: Instant; readonly signal: AbortSignal },
    call: (thread: BundleThread, terms: Omit<BundleCall, 'request'>) => Promise<Result>,
  ): Promise<Result | Extract<BundleResult, { readonly kind: 'unloadable' }>> {
    const { threadSlots, clock, memoryMb, print, variables: readVariables, readCredentialVariables } = this.#host;
    const { deploymentId } = manifest;
    const devKit = this.#devKitOf(scope, manifest);
    if (devKit === 'not_served') return { kind: 'unloadable', message: 'this process runs no apps of the Workflow DevKit' };
    const credentialVariables = (await readCredentialVariables?.(deploymentId)) ?? {};
    const variables = { ...(await readVariables?.()), ...credentialVariables, ...this.#sdkVariables(scope, manifest) };
    const start = (folder: string): BundleThread =>
      new BundleThread({ deploymentId, folder, memoryMb, print, variables, ...devKit });
    return threadSlots.use(scope, manifest, { start, isInstance: isBundleThread }, async (thread): Promise<Result> => {
      const timeoutMs = between(clock.now(), endsAt);
      const { importTimeoutMs } = threadSlots.limits;
      const answer = await call(thread, { bundle, credentialVariables, timeoutMs, importTimeoutMs, signal });
      // Node caches a failed import, so the thread cannot load the module again.
      if (answer.kind === 'unloadable' && thread.isIdle) await thread.end();
      return answer;
    });
  }

  /** The SDK makes the addresses of webhooks from `VERCEL_URL`, after `https://`, and the names of its queues from the namespace. */
  #sdkVariables({ projectId, environment }: Scope, { devkit }: Manifest): Readonly<Record<string, string>> {
    const { apiAddress } = this.#host;
    if (devkit === undefined) return {};
    const address = apiAddress?.replace(/^https?:\/\//, '');
    return defined({
      VERCEL_URL: address === undefined ? undefined : `${address}/devkit/${projectId}/${environment}`,
      WORKFLOW_QUEUE_NAMESPACE: devkit.queueNamespace,
    });
  }

  #devKitOf(
    { projectId, environment }: Scope,
    { deploymentId, devkit }: Manifest,
  ): Pick<ThreadSettings, 'devKit'> | 'not_served' {
    const { world } = this.#host;
    if (devkit === undefined) return {};
    if (world === undefined) return 'not_served';
    // The thread outlives this call. The address of a run is a scope too, and its run must not become that of all calls of the thread.
    return { devKit: { deploymentId, specVersion: devkit.specVersion, scope: { projectId, environment }, world } };
  }
}
