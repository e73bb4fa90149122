/** Credentials for the code of deployments. Each deployment has its own role session of one hour, which CloudTrail names. */
import { AssumeRoleCommand, type STSClient } from '@aws-sdk/client-sts';
import type { DeploymentId } from '../engine/ids.ts';
import { type Instant, between, instant, minutes } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { callService } from './call-service.ts';

/** STS's maximum for role chaining, that is, for a session that another session requests. */
const sessionSeconds = 3_600;
/**
 * The minimum remaining lifetime of returned credentials. It covers the maximum duration of a function and the five
 * minutes before the expiry in which the SDK already refreshes, so credentials never expire during a task.
 */
const minRemainingMs = minutes(25);

/** AWS configuration of the function that the code receives too. These variables are not secret. */
const forwardedVariables =
  /^AWS_((DEFAULT_)?REGION|ENDPOINT_URL(_[A-Z0-9_]+)?|CONFIG_FILE|SHARED_CREDENTIALS_FILE|EC2_METADATA_DISABLED|USE_(FIPS|DUALSTACK)_ENDPOINT)$/;

interface Session {
  readonly variables: Readonly<Record<string, string>>;
  readonly endsAt: Instant;
}

export class AssumedRole {
  readonly #client: STSClient;
  readonly #roleArn: string;
  readonly #clock: Pick<Clock, 'now'>;
  readonly #awsVariables: Readonly<Record<string, string>>;
  readonly #sessions = new Map<DeploymentId, Session>();

  constructor(
    client: STSClient,
    roleArn: string,
    clock: Pick<Clock, 'now'>,
    processVariables: Readonly<Record<string, string | undefined>> = process.env,
  ) {
    this.#client = client;
    this.#roleArn = roleArn;
    this.#clock = clock;
    const known = Object.entries(processVariables).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, value] as const],
    );
    this.#awsVariables = Object.fromEntries(known.filter(([name]) => forwardedVariables.test(name)));
  }

  /** Environment variables for the AWS SDKs and the AWS CLI. @throws Unavailable */
  async variables(deploymentId: DeploymentId): Promise<Readonly<Record<string, string>>> {
    const now = this.#clock.now();
    const isUsable = ({ endsAt }: Session): boolean => between(now, endsAt) >= minRemainingMs;
    for (const [id, session] of this.#sessions) if (!isUsable(session)) this.#sessions.delete(id);
    const session = this.#sessions.get(deploymentId) ?? (await this.#begin(deploymentId));
    this.#sessions.set(deploymentId, session);
    return session.variables;
  }

  async #begin(deploymentId: DeploymentId): Promise<Session> {
    const { Credentials: credentials } = await callService('the role of the code', () =>
      this.#client.send(
        new AssumeRoleCommand({
          RoleArn: this.#roleArn,
          // STS's maximum length.
          RoleSessionName: `deployment-${deploymentId}`.slice(0, 64),
          DurationSeconds: sessionSeconds,
        }),
      ),
    );
    const { AccessKeyId, SecretAccessKey, SessionToken, Expiration } = credentials ?? {};
    if (AccessKeyId === undefined || SecretAccessKey === undefined || SessionToken === undefined || Expiration === undefined)
      throw new Unavailable('the role of the code');
    return {
      endsAt: instant(Expiration.getTime()),
      variables: {
        ...this.#awsVariables,
        AWS_ACCESS_KEY_ID: AccessKeyId,
        AWS_SECRET_ACCESS_KEY: SecretAccessKey,
        AWS_SESSION_TOKEN: SessionToken,
        // Tells the SDKs when to refresh.
        AWS_CREDENTIAL_EXPIRATION: Expiration.toISOString(),
      },
    };
  }
}
