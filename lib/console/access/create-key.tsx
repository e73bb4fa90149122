/** Creates a key, and shows its text once: no other response, log or record has it. */
import type { ReactNode } from 'react';
import { type CreateKeyBody, type CreatedKey, type KeyScope, api } from '../api.ts';
import { CopyButton } from '../primitives/copy-button.tsx';
import { Dialog } from '../primitives/dialog.tsx';
import { formText } from '../primitives/form-text.ts';

/** What each scope allows, as docs/API.md says it. */
const scopes: readonly (readonly [scope: KeyScope, allows: string])[] = [
  ['trigger:write', 'start runs and send signals'],
  ['runs:read', 'see runs, their status, times and error codes'],
  ['payloads:read', 'see inputs, outputs, messages and events of runs'],
  ['runs:write', 'cancel, rerun, wake and resume runs'],
  ['workflows:read', 'read definitions'],
  ['workflows:write', 'publish workflows and change schedules'],
  ['queries:read', 'read queries and their SQL'],
  ['queries:write', 'decide which SQL runs'],
  ['deploy:read', 'list deployments'],
  ['deploy:write', 'decide which code runs'],
  ['world:proxy', 'for deployed code: messages to the code of runs'],
  ['admin', 'all of these, and keys'],
];

const dayMs = 86_400_000;
const lifetimes = [
  ['30', '30 days'],
  ['90', '90 days'],
  ['365', 'a year'],
  ['', 'no expiry'],
] as const;

const isScope = (text: string): text is KeyScope => scopes.some(([scope]) => scope === text);

function bodyOf(form: FormData): CreateKeyBody {
  const chosen = form.getAll('scope').filter((value) => typeof value === 'string' && isScope(value));
  const days = formText(form, 'days');
  const wanted = chosen.map(String).filter(isScope);
  if (wanted.length === 0) throw new Error('Choose at least one scope.');
  return { scopes: wanted, ...(days === '' ? {} : { expiresAt: new Date(Date.now() + Number(days) * dayMs).toISOString() }) };
}

interface CreateKeyProps {
  readonly onCreated: (created: CreatedKey) => void;
  readonly onClose: () => void;
}

export const CreateKey = ({ onCreated, onClose }: CreateKeyProps): ReactNode => (
  <Dialog
    title="Create a key"
    action="Create"
    onClose={onClose}
    onConfirm={async (form) => onCreated(await api.createKey(bodyOf(form)))}
  >
    <fieldset className="scope-list">
      <legend>Scopes</legend>
      {scopes.map(([scope, allows]) => (
        <label key={scope} className="check">
          <input type="checkbox" name="scope" value={scope} />
          <span>
            <code>{scope}</code> <span className="dim">{allows}</span>
          </span>
        </label>
      ))}
    </fieldset>
    <label>
      Expires after
      <select name="days" defaultValue="90">
        {lifetimes.map(([days, text]) => (
          <option key={days} value={days}>
            {text}
          </option>
        ))}
      </select>
    </label>
  </Dialog>
);

interface CreatedKeyProps {
  readonly created: CreatedKey;
  readonly onClose: () => void;
}

export const CreatedKeyDialog = ({ created, onClose }: CreatedKeyProps): ReactNode => (
  <Dialog title={`The key ${created.keyId}`} action="I have stored it" onClose={onClose} onConfirm={async () => onClose()}>
    <p className="notice wait">This text is shown once. Store it where the program reads it, such as in Secrets Manager.</p>
    <pre className="secret">{created.key}</pre>
    <CopyButton text={created.key} label="Copy the key" />
  </Dialog>
);
