/* An object that needs a function which nobody has. */
#include "support/artifact.h"

void nobody_has_this(void);
void saxpy(const struct sp_block *block, const void *params);

void
saxpy(const struct sp_block *block, const void *params)
{
    (void)block, (void)params;
    nobody_has_this();
}
