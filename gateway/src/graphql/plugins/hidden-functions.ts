// The SQL functions behind the operations, and their result types, are no fields of their own: the operations offer them.
import { pgSmartTags } from 'postgraphile/utils';
import { operations } from '../../operations/index.ts';

const functions = new Set(operations.map(({ sqlFunction }) => sqlFunction));
/** Composite types that these functions return, found while the functions are hidden. */
const resultTypes = new WeakSet<object>();
const hidden = { behavior: '-*' };

type Type = { typelem: string | null; getElemType(): Type | undefined; getClass(): Class | undefined };
interface Class {
  relkind: string;
  getAttributes(): { getType(): Type | undefined }[];
}

function collectTypes(type: Type | undefined): void {
  const composite = (type?.getElemType() ?? type)?.getClass();
  if (composite?.relkind !== 'c' || resultTypes.has(composite)) return;
  resultTypes.add(composite);
  for (const attribute of composite.getAttributes()) collectTypes(attribute.getType());
}

// The rules run in this order.
export const hiddenFunctionsPlugin = pgSmartTags(
  [
    {
      kind: 'procedure',
      match: (procedure) => {
        const isHidden = functions.has(procedure.proname) && procedure.getNamespace()?.nspname === 'public';
        if (isHidden) collectTypes(procedure.getReturnType());
        return isHidden;
      },
      tags: hidden,
    },
    { kind: 'class', match: (pgClass) => resultTypes.has(pgClass), tags: hidden },
  ],
  null,
  { name: 'HiddenFunctionsPlugin' },
);
