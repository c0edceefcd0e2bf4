// A part that is loaded when it is first shown, so that what nobody opens is not loaded.
import type { ComponentChildren, ComponentType } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { Empty, Loading } from './states.tsx';

type Params = Record<string, string>;

const opened = new Map<string, ComponentType<Params>>();

interface LazyProps {
  /** Tells parts apart. */
  name: string;
  load: () => Promise<{ default: ComponentType<Params> }>;
  params?: Params;
  /** Around what is shown until it is there. */
  frame?: (shown: ComponentChildren) => ComponentChildren;
}

export function Lazy({ name, load, params = {}, frame = (shown) => shown }: LazyProps) {
  const [View, setView] = useState(() => opened.get(name));
  const [isBroken, setBroken] = useState(false);
  useEffect(() => {
    if (View) return;
    load().then(
      (module) => {
        opened.set(name, module.default);
        setView(() => module.default);
      },
      // A newer version of the server has other files.
      () => setBroken(true),
    );
  }, [name, View]);
  if (View) return <View {...params} key={name} />;
  return (
    <>
      {frame(
        isBroken ? (
          <Empty title="This page could not be loaded">
            <Button onClick={() => location.reload()}>Load it again</Button>
          </Empty>
        ) : (
          <Loading />
        ),
      )}
    </>
  );
}
