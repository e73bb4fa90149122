/** Has the first admin key made, and the keys of the configuration registered, when the stack is deployed. */
import { CustomResource, Duration } from 'aws-cdk-lib';
import type * as lambda from 'aws-cdk-lib/aws-lambda';
import { Construct } from 'constructs';
import type { FirstKeySetting, SeedKeySetting } from '../api/schemas/seed-keys.ts';

export interface FirstKeyProps {
  /** makes and registers them; it answers CloudFormation itself */
  readonly keeper: lambda.IFunction;
  /** the secret that gets the first key's text */
  readonly secretArn: string;
  readonly firstKey: FirstKeySetting;
  readonly seedKeys: readonly SeedKeySetting[];
}

export class FirstKey extends Construct {
  constructor(scope: Construct, id: string, { keeper, secretArn, firstKey, seedKeys }: FirstKeyProps) {
    super(scope, id);
    new CustomResource(this, 'Keys', {
      resourceType: 'Custom::StepwellKeys',
      serviceToken: keeper.functionArn,
      // Without it CloudFormation waits for an hour for a function that died.
      serviceTimeout: Duration.minutes(5),
      // As text: CloudFormation would make texts of all numbers within. Names of secrets and digests, and nothing of a key.
      properties: { SecretArn: secretArn, FirstKey: JSON.stringify(firstKey), SeedKeys: JSON.stringify(seedKeys) },
    });
  }
}
