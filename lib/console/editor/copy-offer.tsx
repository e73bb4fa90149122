/** Offers the copy of unsaved work that an earlier visit left in this browser. */
import { type ReactNode, useState } from 'react';
import { isSameJson } from '../../engine/compare.ts';
import type { JsonValue } from '../../engine/json.ts';
import { Ago } from '../primitives/time.tsx';
import { replaceDefinition } from './commands.ts';
import type { Edited } from './document.ts';
import { type LocalCopy, removeCopy } from './local-copy.ts';
import { definitionJson } from './read-definition.ts';
import type { Stored } from './stored.ts';
import type { Editor } from './use-editor.ts';

const jsonOf = ({ definition, pins }: Edited): JsonValue =>
  JSON.parse(JSON.stringify({ definition: definitionJson(definition), pins }));

interface CopyOfferProps {
  readonly copy: LocalCopy | undefined;
  readonly copyKey: string;
  readonly stored: Stored;
  readonly editor: Editor;
}

export function CopyOffer({ copy, copyKey, stored, editor }: CopyOfferProps): ReactNode {
  const [isOpen, setOpen] = useState(() => copy !== undefined && !isSameJson(jsonOf(copy), jsonOf(stored)));
  if (!isOpen || copy === undefined) return null;
  return (
    <div className="notice wait copy-offer" role="status">
      <span>
        This browser has changes that were not saved, from <Ago at={copy.at} />.
      </span>
      <span className="actions">
        <button
          type="button"
          className="primary"
          onClick={() => {
            editor.run((document) => ({ ...replaceDefinition(document, copy.definition), pins: copy.pins }));
            setOpen(false);
          }}
        >
          Use them
        </button>
        <button
          type="button"
          onClick={() => {
            removeCopy(copyKey);
            setOpen(false);
          }}
        >
          Discard them
        </button>
      </span>
    </div>
  );
}
