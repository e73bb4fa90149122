/** The role of the authors' code, lent for an hour at a time to each deployment: a session of its own, which the trail names. */
import { AssumeRoleCommand, type STSClient } from '@aws-sdk/client-sts';
import type { DeploymentId } from '../engine/ids.ts';
import { type Instant, between, instant, minutes } from '../engine/time.ts';
import type { Clock } from '../ports/clock.ts';
import { Unavailable } from '../ports/unavailable.ts';
import { callService } from './call-service.ts';

/** The longest that a role may lend another: STS allows no more for a session that a session has asked for. */
const sessionSeconds = 3_600;
/**
 * What is handed out is good for this long at least: a function's whole time, and the five minutes before their end in which
 * the SDK asks for others already. So whoever begins a piece of work with them is never left without.
 */
const minRemainingMs = minutes(25);

/** Where AWS is, said to the code as to the function; nothing of it is a secret. */
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

  /** Variables that the AWS SDKs and the command line look for. Throws `Unavailable`. */
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
          // No longer than STS takes.
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
        // By it the SDKs know when to look here again.
        AWS_CREDENTIAL_EXPIRATION: Expiration.toISOString(),
      },
    };
  }
}
