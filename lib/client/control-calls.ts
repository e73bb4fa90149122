/** Client calls for deployments, messages to bundle runs, API keys, links that sign people in, and the audit trail. */
import { defined } from '../base/defined.ts';
import { type CallOptions, sendRequest } from './send-request.ts';
import { type IdempotentCallOptions, idempotencyKeyOption } from './idempotency-keys.ts';
import type { ClientConfig } from './options.ts';
import { readFirstNonEmptyPage } from './pagination.ts';
import { type ResponseBody, type RequestBody, type RequestQuery, routeOf } from './route-types.ts';
import { type Upload, type UploadOptions, uploadArchive } from './upload.ts';

const createDeployment = routeOf('createDeployment');
const listDeployments = routeOf('listDeployments');
const getDeployment = routeOf('getDeployment');
const checkDeploymentHealth = routeOf('checkDeploymentHealth');
const getActiveDeployment = routeOf('getActiveDeployment');
const listApps = routeOf('listApps');
const deactivateDeployment = routeOf('deactivateDeployment');
const activateDeployment = routeOf('activateDeployment');
const verifyDeployment = routeOf('verifyDeployment');
const rollbackDeployment = routeOf('rollbackDeployment');
const removeDeployment = routeOf('removeDeployment');
const publishMessage = routeOf('publishMessage');
const getWorldDeploymentId = routeOf('getWorldDeploymentId');
const listWorldHooks = routeOf('listWorldHooks');
const resumeHook = routeOf('resumeHook');
const createKey = routeOf('createKey');
const listKeys = routeOf('listKeys');
const revokeKey = routeOf('revokeKey');
const rotateKey = routeOf('rotateKey');
const listAudit = routeOf('listAudit');
const createSessionLink = routeOf('createSessionLink');
const createEmbed = routeOf('createEmbed');
const listEmbeds = routeOf('listEmbeds');
const revokeEmbed = routeOf('revokeEmbed');
const getInstallation = routeOf('getInstallation');
const getCatalogue = routeOf('getCatalogue');

type Message = Pick<RequestBody<'publishMessage'>, 'queueName' | 'message'>;

export interface CreateDeploymentOptions extends CallOptions {
  /** the archive, sent with the manifest; upload larger archives with `uploadArtifact` */
  readonly artifact?: Uint8Array<ArrayBuffer>;
}

export class ControlCalls {
  readonly #config: ClientConfig;

  constructor(config: ClientConfig) {
    this.#config = config;
  }

  /** Creates a deployment from a manifest. Without `artifact`, the response contains an upload address if the artifact is missing. */
  async createDeployment(
    body: RequestBody<'createDeployment'>,
    { artifact, ...options }: CreateDeploymentOptions = {},
  ): Promise<ResponseBody<'createDeployment'>> {
    const file = artifact === undefined ? {} : { file: artifact };
    return sendRequest(this.#config, createDeployment, createDeployment.responses[201].schema, { body, ...file }, options);
  }

  /** Uploads an archive to the address from `createDeployment`. The presigned address is a secret, so no error contains it. */
  uploadArtifact(upload: Upload, archive: Uint8Array<ArrayBuffer>, options?: UploadOptions): Promise<void> {
    return uploadArchive(this.#config, upload, archive, options);
  }

  /** One page, newest first; only the last page can be empty. */
  listDeployments(query: RequestQuery<'listDeployments'> = {}, options?: CallOptions): Promise<ResponseBody<'listDeployments'>> {
    return readFirstNonEmptyPage(query, (from) =>
      sendRequest(
        this.#config,
        listDeployments,
        listDeployments.responses[200].schema,
        { query: { ...query, ...from } },
        options,
      ),
    );
  }

  getDeployment(deploymentId: string, options?: CallOptions): Promise<ResponseBody<'getDeployment'>> {
    return sendRequest(this.#config, getDeployment, getDeployment.responses[200].schema, { params: { deploymentId } }, options);
  }

  /** Sends a health check to the code of a DevKit deployment. Without an answer within 20 seconds, `healthy` is false. */
  checkDeploymentHealth(deploymentId: string, options?: CallOptions): Promise<ResponseBody<'checkDeploymentHealth'>> {
    const { schema } = checkDeploymentHealth.responses[200];
    return sendRequest(this.#config, checkDeploymentHealth, schema, { params: { deploymentId } }, options);
  }

  /** Fails with `no_active_deployment` if the app has none, and with `app_required` if several apps do and the query names none. */
  getActiveDeployment(
    query: RequestQuery<'getActiveDeployment'> = {},
    options?: CallOptions,
  ): Promise<ResponseBody<'getActiveDeployment'>> {
    return sendRequest(this.#config, getActiveDeployment, getActiveDeployment.responses[200].schema, { query }, options);
  }

  /** The apps with an active deployment, by name. The list has one page. */
  listApps(options?: CallOptions): Promise<ResponseBody<'listApps'>> {
    return sendRequest(this.#config, listApps, listApps.responses[200].schema, {}, options);
  }

  /** Verifies the uploaded artifact, so that runs can start on the deployment by its id. Repeating it has no effect. */
  verifyDeployment(deploymentId: string, options?: CallOptions): Promise<ResponseBody<'verifyDeployment'>> {
    return sendRequest(
      this.#config,
      verifyDeployment,
      verifyDeployment.responses[200].schema,
      { params: { deploymentId } },
      options,
    );
  }

  /** Activates a deployment for new runs of its app. Repeating it has no effect. */
  activateDeployment(
    deploymentId: string,
    body: RequestBody<'activateDeployment'> = {},
    options?: CallOptions,
  ): Promise<ResponseBody<'activateDeployment'>> {
    const { schema } = activateDeployment.responses[200];
    return sendRequest(this.#config, activateDeployment, schema, { params: { deploymentId }, body }, options);
  }

  /** Leaves the app of an active deployment without one. Repeating it has no effect. */
  deactivateDeployment(
    deploymentId: string,
    body: RequestBody<'deactivateDeployment'> = {},
    options?: CallOptions,
  ): Promise<ResponseBody<'deactivateDeployment'>> {
    const { schema } = deactivateDeployment.responses[200];
    return sendRequest(this.#config, deactivateDeployment, schema, { params: { deploymentId }, body }, options);
  }

  /** Without an id, activates the previously active deployment of the app. Calling it twice returns to the first one. */
  rollbackDeployment(
    body: RequestBody<'rollbackDeployment'> = {},
    options?: CallOptions,
  ): Promise<ResponseBody<'rollbackDeployment'>> {
    return sendRequest(this.#config, rollbackDeployment, rollbackDeployment.responses[200].schema, { body }, options);
  }

  removeDeployment(deploymentId: string, options?: CallOptions): Promise<ResponseBody<'removeDeployment'>> {
    return sendRequest(
      this.#config,
      removeDeployment,
      removeDeployment.responses[200].schema,
      { params: { deploymentId } },
      options,
    );
  }

  /** Sends a message to a bundle run. Without `opts.idempotencyKey`, each call sends one. */
  publish(
    queueName: Message['queueName'],
    message: Message['message'],
    opts?: RequestBody<'publishMessage'>['opts'],
    options?: CallOptions,
  ): Promise<ResponseBody<'publishMessage'>> {
    const body = defined({ queueName, message, opts });
    const bodyHasIdempotencyKey = opts?.idempotencyKey !== undefined;
    return sendRequest(
      this.#config,
      publishMessage,
      publishMessage.responses[200].schema,
      { body, bodyHasIdempotencyKey },
      options,
    );
  }

  /** Like `getActiveDeployment`, for keys with the scope `world:proxy`. */
  getWorldDeploymentId(
    query: RequestQuery<'getWorldDeploymentId'> = {},
    options?: CallOptions,
  ): Promise<ResponseBody<'getWorldDeploymentId'>> {
    return sendRequest(this.#config, getWorldDeploymentId, getWorldDeploymentId.responses[200].schema, { query }, options);
  }

  /** The open hooks of a DevKit run, with their tokens, for keys with the scope `world:proxy`. */
  listWorldHooks(body: RequestBody<'listWorldHooks'>, options?: CallOptions): Promise<ResponseBody<'listWorldHooks'>> {
    return sendRequest(this.#config, listWorldHooks, listWorldHooks.responses[200].schema, { body }, options);
  }

  /** Resumes the hook of a DevKit run. Without an idempotency key, each call sends the payload once more. */
  async resumeHook(body: RequestBody<'resumeHook'>, options: IdempotentCallOptions = {}): Promise<ResponseBody<'resumeHook'>> {
    const requestParts = { body, ...idempotencyKeyOption(options) };
    return sendRequest(this.#config, resumeHook, resumeHook.responses[200].schema, requestParts, options);
  }

  /** Only this response contains the text of the key. */
  createKey(body: RequestBody<'createKey'>, options?: CallOptions): Promise<ResponseBody<'createKey'>> {
    return sendRequest(this.#config, createKey, createKey.responses[201].schema, { body }, options);
  }

  /** One page, newest first; only the last page can be empty. */
  listKeys(query: RequestQuery<'listKeys'> = {}, options?: CallOptions): Promise<ResponseBody<'listKeys'>> {
    return readFirstNonEmptyPage(query, (from) =>
      sendRequest(this.#config, listKeys, listKeys.responses[200].schema, { query: { ...query, ...from } }, options),
    );
  }

  /** Repeating it keeps the first revocation time. */
  revokeKey(keyId: string, options?: CallOptions): Promise<ResponseBody<'revokeKey'>> {
    return sendRequest(this.#config, revokeKey, revokeKey.responses[200].schema, { params: { keyId } }, options);
  }

  /** Only this response contains the text of the new key. */
  rotateKey(keyId: string, body: RequestBody<'rotateKey'> = {}, options?: CallOptions): Promise<ResponseBody<'rotateKey'>> {
    return sendRequest(this.#config, rotateKey, rotateKey.responses[201].schema, { params: { keyId }, body }, options);
  }

  /** Signs one browser in to the console, once and within a minute. It goes behind `#`, so that no server logs it: `/console/#link=…`. */
  createSessionLink(options?: CallOptions): Promise<ResponseBody<'createSessionLink'>> {
    return sendRequest(this.#config, createSessionLink, createSessionLink.responses[201].schema, {}, options);
  }

  /** Creates a page that shows the status of one run or workflow. The path contains its token. */
  createEmbed(body: RequestBody<'createEmbed'>, options?: CallOptions): Promise<ResponseBody<'createEmbed'>> {
    return sendRequest(this.#config, createEmbed, createEmbed.responses[201].schema, { body }, options);
  }

  /** All embeds, oldest first. */
  listEmbeds(options?: CallOptions): Promise<ResponseBody<'listEmbeds'>> {
    return sendRequest(this.#config, listEmbeds, listEmbeds.responses[200].schema, {}, options);
  }

  revokeEmbed(id: string, options?: CallOptions): Promise<ResponseBody<'revokeEmbed'>> {
    return sendRequest(this.#config, revokeEmbed, revokeEmbed.responses[200].schema, { params: { embedId: id } }, options);
  }

  /** The version of the installation and its settings, without secrets. */
  getInstallation(options?: CallOptions): Promise<ResponseBody<'getInstallation'>> {
    return sendRequest(this.#config, getInstallation, getInstallation.responses[200].schema, {}, options);
  }

  /** The names of the secrets, models and databases that workflows of the key's project and environment can use. */
  getCatalogue(options?: CallOptions): Promise<ResponseBody<'getCatalogue'>> {
    return sendRequest(this.#config, getCatalogue, getCatalogue.responses[200].schema, {}, options);
  }

  /** One page, newest first; only the last page can be empty. */
  listAudit(query: RequestQuery<'listAudit'> = {}, options?: CallOptions): Promise<ResponseBody<'listAudit'>> {
    return readFirstNonEmptyPage(query, (from) =>
      sendRequest(this.#config, listAudit, listAudit.responses[200].schema, { query: { ...query, ...from } }, options),
    );
  }
}
