/** Wires the worker's lens nodes to the configured models, moderation and secrets. */
import { once } from '../../lib/base/lazy.ts';
import { secretsClient } from '../../lib/aws/clients.ts';
import { ManagedSecrets } from '../../lib/aws/secrets.ts';
import { unreachable } from '../../lib/engine/invariant.ts';
import { ChatCompletions } from '../../lib/models/chat-completions.ts';
import { ConfiguredModels, type ProviderOf } from '../../lib/models/configured-models.ts';
import { DeterministicModel } from '../../lib/models/deterministic-model.ts';
import { HttpModeration, WordModeration, noModeration } from '../../lib/models/moderation.ts';
import { ProviderKeys } from '../../lib/models/provider-keys.ts';
import { type ModerationSetting, modelSetting, moderationSetting, secretNamedBy } from '../../lib/models/setting.ts';
import type { LensPorts } from '../../lib/nodes/lens/run.ts';
import type { Moderation } from '../../lib/ports/moderation.ts';
import type { Deps } from '../../lib/service/deps.ts';
import { storedSetting } from '../settings-wiring.ts';
import { configuredAccess } from './network-wiring.ts';

/** Settings and clients are loaded when the first lens needs them. */
export function lensPortsOf(deps: Pick<Deps, 'lenses' | 'clock'>): LensPorts {
  const keysOf = once(() => new ProviderKeys(new ManagedSecrets(secretsClient()), deps.clock));

  const providerOf: ProviderOf = async (model) => {
    switch (model.provider) {
      case 'deterministic':
        return new DeterministicModel(deps.clock);
      case 'openai': {
        const { apiKey, ...rest } = model;
        const keyNameOption = apiKey === undefined ? {} : { keyName: secretNamedBy(apiKey) };
        return new ChatCompletions({ ...rest, ...keyNameOption, keys: keysOf(), networkAccess: configuredAccess() });
      }
      case 'bedrock': {
        const { BedrockModel, bedrockClient } = await import('../../lib/aws/bedrock.ts');
        return new BedrockModel(bedrockClient(), model.modelId);
      }
      default:
        return unreachable(model);
    }
  };

  const moderationOf = async (setting: ModerationSetting): Promise<Moderation> => {
    switch (setting.provider) {
      case 'none':
        return noModeration;
      case 'deterministic':
        return new WordModeration(setting.words);
      case 'http':
        return new HttpModeration({ ...setting, keys: keysOf(), networkAccess: configuredAccess() });
      case 'bedrock-guardrail': {
        const { BedrockGuardrail, bedrockClient } = await import('../../lib/aws/bedrock.ts');
        return new BedrockGuardrail(bedrockClient(), { arn: setting.guardrailArn, version: setting.version });
      }
      default:
        return unreachable(setting);
    }
  };

  const readModerationSetting = storedSetting('moderation', moderationSetting);
  let moderation: Promise<Moderation> | undefined;
  return {
    get lenses() {
      return deps.lenses;
    },
    models: new ConfiguredModels(storedSetting('models', modelSetting), providerOf, deps.clock),
    moderation: {
      check: async (phase, text, signal) => {
        const setting = await readModerationSetting();
        return (await (moderation ??= moderationOf(setting))).check(phase, text, signal);
      },
    },
  };
}
