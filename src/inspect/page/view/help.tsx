/** The keys, on top of everything. */
import { keys } from './keys.ts';

export function Help({ onClose }: { readonly onClose: () => void }) {
  return (
    <div class="overlay">
      <dialog open class="help" aria-label="Keys">
        <h2>Keys</h2>
        <dl>
          {keys.map(([key, what]) => (
            <div key={key}>
              <dt>
                {key.split(' ').map((one) => (
                  <kbd key={one}>{one}</kbd>
                ))}
              </dt>
              <dd>{what}</dd>
            </div>
          ))}
        </dl>
        <button type="button" onClick={onClose}>
          Close
        </button>
      </dialog>
    </div>
  );
}
