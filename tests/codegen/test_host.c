int test_host(void);
int test_host(void){return 0;}
