/** Custom resource that creates the first admin key, registers the configured keys and stores large settings during a deployment. */
import { CustomResource, Duration, Lazy, Stack, Validations } from 'aws-cdk-lib';
import type * as kms from 'aws-cdk-lib/aws-kms';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import * as secretsmanager from 'aws-cdk-lib/aws-secretsmanager';
import { Construct } from 'constructs';
import type { SignInKeySetting } from '../api/schemas/console-setting.ts';
import type { ApplicationKeySetting, FirstKeySetting, SeedKeySetting } from '../api/schemas/seed-keys.ts';
import { type ApplicationKey, applicationScopes } from './installation.ts';
import type { ProductFunction } from './product-function.ts';
import { checkLength } from './ranges.ts';
import type { StoredSetting } from './stored-setting.ts';
import { allow } from './statements.ts';

export interface FirstKeyProps {
  /** the first-key function, which responds to CloudFormation itself */
  readonly provisioner: lambda.IFunction;
  /** the secret that receives the first key */
  readonly secretArn: string;
  readonly firstKey: FirstKeySetting;
  readonly seedKeys: readonly SeedKeySetting[];
  readonly signInKeys: readonly SignInKeySetting[];
  readonly storedSettings: readonly StoredSetting[];
  /** read at the end of the synthesis, because grants create keys */
  readonly applicationKeys: () => readonly ApplicationKeySetting[];
}

/**
 * Maximum size of the properties as JSON. CloudFormation invokes the function asynchronously, with at most 1 MB, and an update
 * contains the old and the new properties. The limit also keeps each setting below the 400 KB of a DynamoDB item.
 */
export const maxSettingsBytes = 400_000;

const textOf = (keys: readonly ApplicationKeySetting[]): string | undefined =>
  keys.length === 0 ? undefined : JSON.stringify(keys);

export class FirstKey extends Construct {
  readonly resource: CustomResource;

  constructor(
    scope: Construct,
    id: string,
    { provisioner, secretArn, firstKey, seedKeys, signInKeys, storedSettings, applicationKeys }: FirstKeyProps,
  ) {
    super(scope, id);
    // As a JSON string, because CloudFormation converts numbers in properties to strings. Contains secret names and digests, never a key.
    const largeProperties = {
      SeedKeys: () => JSON.stringify(seedKeys),
      Settings: () => JSON.stringify(storedSettings),
    };
    checkLength(this, {
      name: 'seedKeys, webhooks, secrets, models, moderation, databases, codeVariables, console and triggers together',
      textOf: () => JSON.stringify(Object.values(largeProperties).map((textOf) => textOf())),
      maxBytes: maxSettingsBytes,
    });
    this.resource = new CustomResource(this, 'Keys', {
      resourceType: 'Custom::StepwellKeys',
      serviceToken: provisioner.functionArn,
      // Without it, CloudFormation waits an hour for a function that crashed.
      serviceTimeout: Duration.minutes(5),
      properties: {
        SecretArn: secretArn,
        FirstKey: JSON.stringify(firstKey),
        SeedKeys: largeProperties.SeedKeys(),
        Settings: Lazy.uncachedString({ produce: largeProperties.Settings }),
        // Absent without an identity provider.
        ...(signInKeys.length === 0 ? {} : { SignInKeys: JSON.stringify(signInKeys) }),
        // Absent without keys.
        ApplicationKeys: Lazy.any({ produce: () => textOf(applicationKeys()) }),
      },
    });
  }
}

const constructIds = { trigger: 'TriggerKey', read: 'ReadKey' } as const satisfies Record<ApplicationKey, string>;

/** Keys of applications, created when the first role is granted their use. A deployment writes each into a secret of its own. */
export class ApplicationKeys {
  readonly #scope: Construct;
  readonly #encryptionKey: kms.IKey | undefined;
  readonly #provisioner: () => ProductFunction | undefined;
  readonly #secrets = new Map<ApplicationKey, secretsmanager.ISecret>();

  /** @param provisioner creates the keys during a deployment */
  constructor(scope: Construct, encryptionKey: kms.IKey | undefined, provisioner: () => ProductFunction | undefined) {
    this.#scope = scope;
    this.#encryptionKey = encryptionKey;
    this.#provisioner = provisioner;
  }

  /** For the custom resource. */
  get settings(): readonly ApplicationKeySetting[] {
    return [...this.#secrets].map(([kind, { secretArn }]) => ({ secretArn, scopes: [...applicationScopes[kind]] }));
  }

  /** @throws if the functions are not bundled: without them, no deployment creates the key */
  secretOf(kind: ApplicationKey): secretsmanager.ISecret {
    const existing = this.#secrets.get(kind);
    if (existing !== undefined) return existing;
    const provisioner = this.#provisioner();
    if (provisioner === undefined) throw new Error('A key needs the function first-key, which is not bundled.');
    const secretArn = this.#createSecret(kind);
    provisioner.role.addToPrincipalPolicy(allow(['secretsmanager:GetSecretValue', 'secretsmanager:PutSecretValue'], [secretArn]));
    const secret = secretsmanager.Secret.fromSecretAttributes(this.#scope, `${constructIds[kind]}Secret`, {
      secretCompleteArn: secretArn,
      ...(this.#encryptionKey === undefined ? {} : { encryptionKey: this.#encryptionKey }),
    });
    this.#secrets.set(kind, secret);
    return secret;
  }

  #createSecret(kind: ApplicationKey): string {
    // CfnSecret, because the CDK's Secret generates a random value, which is not an API key.
    const secret = new secretsmanager.CfnSecret(this.#scope, constructIds[kind], {
      description: `Stepwell (${Stack.of(this.#scope).stackName}): the API key of applications, to ${kind === 'trigger' ? 'start runs' : 'read'}`,
      ...(this.#encryptionKey === undefined ? {} : { kmsKeyId: this.#encryptionKey.keyArn }),
    });
    Validations.of(secret).acknowledge({
      id: 'AwsSolutions-SMG4',
      reason:
        'Automatic rotation would lock out applications that have read the key. Rotate it with POST /v1/keys/{keyId}/rotate and store the new key in the secret.',
    });
    return secret.ref;
  }
}
