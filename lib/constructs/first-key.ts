/** Has the first admin key made, the keys of the configuration registered and its large settings written, when the stack is deployed. */
import { CustomResource, Duration } from 'aws-cdk-lib';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { FirstKeySetting, SeedKeySetting } from '../api/schemas/seed-keys.ts';
import { checkLength } from './ranges.ts';
import type { StoredSetting } from './stored-settings.ts';

export interface FirstKeyProps {
  /** makes and registers them; it answers CloudFormation itself */
  readonly provisioner: lambda.IFunction;
  /** the secret that gets the first key's text */
  readonly secretArn: string;
  readonly firstKey: FirstKeySetting;
  readonly seedKeys: readonly SeedKeySetting[];
  readonly storedSettings: readonly StoredSetting[];
}

/**
 * Of the properties, as JSON. CloudFormation invokes the function asynchronously, with at most 1 MB, and an update has the old
 * properties beside the new ones. It also keeps each setting below the 400 KB of an item.
 */
const maxBytes = 400_000;

export class FirstKey extends Construct {
  readonly resource: CustomResource;

  constructor(scope: Construct, id: string, { provisioner, secretArn, firstKey, seedKeys, storedSettings }: FirstKeyProps) {
    super(scope, id);
    // As text: CloudFormation would make texts of all numbers within. Names of secrets and digests, and nothing of a key.
    const largeProperties = { SeedKeys: JSON.stringify(seedKeys), Settings: JSON.stringify(storedSettings) };
    checkLength(this, {
      name: 'seedKeys, webhooks, secrets, models, moderation, databases and codeVariables together',
      text: JSON.stringify(largeProperties),
      maxBytes,
    });
    this.resource = new CustomResource(this, 'Keys', {
      resourceType: 'Custom::StepwellKeys',
      serviceToken: provisioner.functionArn,
      // Without it CloudFormation waits for an hour for a function that died.
      serviceTimeout: Duration.minutes(5),
      properties: { SecretArn: secretArn, FirstKey: JSON.stringify(firstKey), ...largeProperties },
    });
  }
}
